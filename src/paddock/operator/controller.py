"""Reconciles one job: read, decide, record, act, in this order. `jobs.plan` makes the decision.

Rules: docs/architecture.md, "Rules that keep it correct". The job and its children are read from the caches. What
starts or ends something is decided on a job that was read live (`operator.freshness`), and a live GET confirms an
absence before it decides anything. A decision is recorded, and read back, before it is acted on; what tells of
progress alone is recorded later (`operator.progress_record`). A reconcile that changes something decisive ends after
the record; the next one follows at once and acts on the answer, which is the live job.

A reconcile may stop anywhere, by an error or with the process: the next one starts from the API alone. It raises an
`ApiError` where a later reconcile may succeed. `operator.operator` starts reconciles, `operator.apply` sends actions,
`operator.recorder` writes the status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from paddock.build import BUILD
from paddock.controllers.events import EventRecorder
from paddock.controllers.schedule import PATIENCE
from paddock.jobs.actions import Create, EventNote, Plan
from paddock.jobs.apis import JobApi
from paddock.jobs.datasets import find_awaited
from paddock.jobs.labels import CANCEL_ANNOTATION
from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import Observed, Phase, Settings, Status
from paddock.jobs.objects import observation
from paddock.jobs.plan import plan
from paddock.jobs.policies.autoscaler import explain_none
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.silent_job import explain_unseen
from paddock.kube.api import Api
from paddock.kube.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, is_namespace_terminating
from paddock.kube.meta import (
    CONFIG_MAPS,
    DATASETS,
    PODS,
    SERVICES,
    Key,
    Manifest,
    Resource,
    annotations_of,
    is_deleting,
    metadata,
    uid_of,
    version_of,
)
from paddock.operator import pruned_status, record
from paddock.operator.apply import Executor, Outcome, read_refusal
from paddock.operator.aside import Aside, TooManyObjects
from paddock.operator.datasets import WatchedDatasets
from paddock.operator.decision import Decision
from paddock.operator.freshness import LIVE_SECONDS, Freshness, Known, find_need
from paddock.operator.informers import Informers
from paddock.operator.job_reader import JobReader
from paddock.operator.job_state import JobRef, JobStates
from paddock.operator.metrics import UNMEASURED, Measures
from paddock.operator.observer import Observer
from paddock.operator.progress_record import can_wait
from paddock.operator.pruned_status import PrunedStatusGuard
from paddock.operator.quotas import GangRoom
from paddock.operator.readings import Readings
from paddock.operator.recorder import Recorder
from paddock.operator.release import plan_release
from paddock.operator.tally import OnEnd, Tally
from paddock.words.problems import InvalidJob, Problem

_RETRY_SECONDS = 0.5
"""Until the next reconcile when a live GET found a pod that the cache did not have."""

PROGRESS_SECONDS, MOST_SECONDS = 0.3, 1.0
"""What tells of progress alone is put off until nothing changes for so long, for so long at most; and longer while
other work is due."""

TOO_MANY_AGAIN_SECONDS = 60.0
"""Until the next look at a job that owns more objects than are looked at."""

_SOON = 0.02

_RECORDED = -1.0
"""Of a reconcile that has recorded something decisive: the next one follows at once."""

_log = logging.getLogger(__name__)


class ActionsFailed(Exception):
    """Some actions of a reconcile were refused: events name them, and the job is reconciled again."""


class Queue(Protocol):
    """What the controller asks of the work queue."""

    def add(self, ref: JobRef) -> None: ...

    def put_off(self, ref: JobRef, delay: float) -> None: ...

    def presses(self) -> bool: ...


class Controller:
    """`readings`: as in `Operator`; `queue` is its own. `measures` takes the metrics; `term` and `on_end` are those of
    `operator.tally`; `room` looks at quotas, where it is to."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        informers: Informers,
        datasets: WatchedDatasets,
        events: EventRecorder,
        *,
        kinds: Mapping[Resource, JobApi],
        readings: Readings,
        queue: Queue,
        measures: Measures = UNMEASURED,
        term: Callable[[str], object] = lambda _: None,
        on_end: OnEnd = lambda *_: None,
        room: GangRoom | None = None,
    ) -> None:
        self._room = room
        self._queue = queue
        self._api = api
        self._settings = settings
        self._informers = informers
        self._events = events
        self._kinds = kinds
        self._readings = readings
        self._executor = Executor(api, informers, readings.clock, room)
        self._states = JobStates()
        self._aside = Aside()
        self._reader = JobReader(self._aside)
        self._noted: list[set[tuple[Resource, Key]]] = []
        self._waiting_for: dict[tuple[Resource, Key], set[JobRef]] = {}
        self._pruned = PrunedStatusGuard(api, events, readings.clock, measures)
        self._tally = Tally(measures, term, on_end)
        self._freshness = Freshness(readings.clock, readings.clock_off)
        self._observer = Observer(
            api,
            settings,
            informers,
            datasets,
            self._aside,
            states=self._states,
            readings=readings,
        )
        self._recorder = Recorder(
            api,
            informers,
            kinds=kinds,
            pruned=self._pruned,
            tally=self._tally,
            freshness=self._freshness,
            clock=readings.clock,
            steady=readings.steady,
            wake=queue.add,
        )

    def begin_term(self, concerns: Callable[[str], bool]) -> None:
        """Somebody else may have led these namespaces: what the caches had before proves nothing."""
        self._freshness.begin_term()
        self._states.begin_term(concerns)

    def forget(self, ref: JobRef) -> None:
        """The job is gone, or another operator's."""
        self._states.pop(ref, None)
        self._tally.forget(ref)
        self._readings.gpus.forget(*ref)
        if self._room is not None:
            self._room.note(ref, None)

    def leave(self, ref: JobRef) -> None:
        """A pass ended as no request of it might begin any more, which is no answer about the job."""
        if (state := self._states.get(ref)) is not None:
            state.refused = None

    async def reconcile(self, ref: JobRef) -> float | None:
        """Reconcile one job. Seconds until the next reconcile without an event, or None. Raises `ApiError`,
        `ActionsFailed`."""
        try:
            if retry_in := self._pruned.retry_in(ref.resource):
                await self._annotate_halted(ref)
                return retry_in
            if (after := await self._reconcile(ref)) == _RECORDED:
                after = await self._reconcile(ref)
            return after if after is None else max(after, 0.0)
        except NotFound:
            self.forget(ref)
            return None
        except TooManyObjects as error:
            if job := self._informers.get(*ref):
                self._publish(job, [EventNote("TooManyObjects", str(error), "Warning")])
            return TOO_MANY_AGAIN_SECONDS
        except Exception:
            if ref in self._states:
                self._states[ref].doubtful = True
            raise

    async def _reconcile(self, ref: JobRef) -> float | None:
        """By the cached job, if it is known well enough for what is decided on it; else by the live one."""
        cached = self._informers.get(*ref)
        if cached is None or self._states.begin(ref, uid_of(cached)).doubtful or plan_release(cached):
            return await self._reconcile_live(ref, await self._read_live(ref))
        if find_other_manager(cached):
            self._states.pop(ref, None)
            return None
        decision = await self._decide(ref, cached)
        if isinstance(decision, Decision) and self._knows(ref, cached, decision):
            return await self._execute(ref, decision, absent=())
        if not isinstance(decision, Decision) or not (doubted := decision.doubted()):
            return await self._reconcile_live(ref, await self._read_live(ref))
        manifest, unseen = await asyncio.gather(
            self._read_live(ref), self._executor.fetch_unseen(decision.job, decision.status, doubted)
        )
        return _RETRY_SECONDS if unseen else await self._reconcile_live(ref, manifest, absent=doubted)

    def _knows(self, ref: JobRef, cached: Manifest, decision: Decision) -> bool:
        need, state = find_need(decision.recorded, decision.status, decision.plan), self._states[ref]
        if need is Known.CACHED or self._readings.steady() - state.live_at <= LIVE_SECONDS:
            return True
        watched = self._informers.watched_as(ref.key.namespace)
        return need is Known.PROVEN and self._freshness.is_proven(ref.resource, watched)

    async def _read_live(self, ref: JobRef) -> Manifest:
        """The live job; the cache takes it in."""
        asked = self._readings.steady()
        manifest = await self._api.get(ref.resource, *ref.key)
        state = self._states.begin(ref, uid_of(manifest))
        state.note_live(asked, cached=self._informers.assume(ref.resource, manifest))
        return manifest

    async def _reconcile_live(self, ref: JobRef, manifest: Manifest, absent: Collection[str] = ()) -> float | None:
        """`absent`: names of pods that a live GET has not found."""
        if find_other_manager(manifest):
            self._states.pop(ref, None)
            return None
        manifest = await self._remove_legacy_finalizer(ref, manifest)
        status = self._kinds[ref.resource].read_status(manifest)
        if status.unknown_phase:
            self._report_unknown(ref, manifest, status.unknown_phase)
            return None
        self._tally.settle(ref, manifest, status)
        decision = await self._decide(ref, manifest)
        if decision is None:
            return None
        if not isinstance(decision, Decision):
            await self._record_invalid(ref, manifest, status, decision)
            return None
        return await self._execute(ref, decision, absent)

    async def _annotate_halted(self, ref: JobRef) -> None:
        """Halted: only the legacy finalizer is removed."""
        # It would block the deletion of the CRD, which may be what ends the halt.
        if (known := self._informers.get(*ref)) is None or find_other_manager(known):
            return
        job = await self._remove_legacy_finalizer(ref, known)
        if not self._kinds[ref.resource].read_status(job).phase.terminal:
            await self._pruned.annotate(ref.resource, job)

    def on_job_event(self, ref: JobRef, manifest: Manifest) -> None:
        """A job was added, changed or deleted. Own status writes do not queue it."""
        watched = self._informers.watched_as(ref.key.namespace)
        self._freshness.hear(ref.resource, watched, manifest)
        state, version = self._states.get(ref), version_of(manifest)
        if state is None and find_other_manager(manifest):
            return
        # During a write its version is not known yet, and the watch may be faster than the answer: judge it afterwards.
        if state is not None and state.seen_during_write is not None:
            state.seen_during_write.add(version)
        elif state is None or version not in state.written:
            self._queue.add(ref)
        else:
            self._freshness.prove(ref.resource, watched, state.written[version])

    def on_object_event(self, resource: Resource, key: Key) -> None:
        """This object was added, changed or deleted: queue the jobs that wait for its name."""
        for noted in self._noted:
            noted.add((resource, key))
        for ref in self._waiting_for.pop((resource, key), ()):
            self._queue.add(ref)

    @contextmanager
    def _noting_events(self) -> Iterator[set[tuple[Resource, Key]]]:
        """The objects that change while a long decision is made, of which it does not know that the job waits for
        them."""
        noted: set[tuple[Resource, Key]] = set()
        self._noted.append(noted)
        try:
            yield noted
        finally:
            self._noted = [each for each in self._noted if each is not noted]

    def _watch_names(self, ref: JobRef, names: Iterable[tuple[Resource, Key]]) -> None:
        """The next event of one of these objects queues the job (`on_object_event`)."""
        for name in names:
            self._waiting_for.setdefault(name, set()).add(ref)

    async def _remove_legacy_finalizer(self, ref: JobRef, manifest: Manifest) -> Manifest:
        """The job without paddle-operator's finalizer. If the server refuses the patch, an event says so, and the job
        keeps it."""
        if (patch := plan_release(manifest)) is None:
            return manifest
        try:
            return await self._api.patch(ref.resource, *ref.key, patch)
        except (BadRequest, Forbidden, Invalid) as error:
            message = (
                f"cannot take off the finalizer of paddle-operator, which delays the job's deletion: {error.message}"
            )
            self._publish(manifest, [EventNote("FinalizerStays", message, "Warning")])
            return manifest

    async def _decide(self, ref: JobRef, manifest: Manifest) -> Decision | InvalidJob | None:
        """`InvalidJob`: a manifest that was never valid. None: a status of a later version."""
        kind, state = self._kinds[ref.resource], self._states[ref]
        recorded = kind.read_status(manifest)
        if recorded.unknown_phase:
            return None
        status = state.read(uid_of(manifest), recorded)
        try:
            job, refusal = await self._reader.read(ref, kind, manifest, status)
        except InvalidJob as invalid:
            return invalid
        job = fit(job, status.gang_size)
        look = await self._observer.look(ref, state, job, status)
        now, first_look = self._readings.clock(), state.reported_generation != metadata(manifest).get("generation")
        settings = replace(self._settings, autoscalers=self._informers.autoscalers(ref.key.namespace))

        def decide() -> tuple[Observed, Plan]:
            observed = self._observer.read(ref, job, status, look)
            decided = plan(job, status, observed, now, settings)
            to_record = record.with_problem(decided.status, refusal, now)
            if refusal is None:
                to_record = record.with_valid_spec(to_record, status, manifest, first_look=first_look)
            return observed, replace(decided, status=to_record)

        with self._noting_events() as meanwhile:
            observed, decided = await self._aside.run(decide, small=look.small)
        if not look.small and self._is_taken(ref, observed, decided):
            self._queue.add(ref)
            raise Conflict(f"the port that {ref} was to have was taken meanwhile")
        # Before the next await: a foreign object may go while the status is written, and its event comes once.
        names = {(child.resource, Key(job.key.namespace, child.name)) for child in observed.foreign}
        if not observed.gang(status) and not status.phase.terminal:
            awaited = find_awaited(job, observed.datasets)
            names |= {(DATASETS, Key(job.key.namespace, name)) for name in awaited}
        self._watch_names(ref, names)
        # By the status that is recorded next: its own record wakes nobody.
        self._readings.gpus.note(job, decided.status, observed.gang(decided.status))
        if names & meanwhile:
            self._queue.add(ref)
        return Decision(manifest, job, recorded, status, observed, decided, refusal, first_look)

    async def _execute(self, ref: JobRef, decision: Decision, absent: Collection[str]) -> float | None:
        state, job, decided, manifest = self._states[ref], decision.job, decision.plan, decision.manifest
        self._report(ref, decision)
        doubted = [name for name in decision.doubted() if name not in absent]
        if doubted and await self._executor.fetch_unseen(job, decision.status, doubted):
            return _RETRY_SECONDS
        self._reserve_port(ref, decided)
        recorded: Manifest | None = manifest
        if not self._put_off(ref, decision):
            recorded = await self._recorder.record(ref, state, manifest, decided.status)
        if recorded is None:
            return pruned_status.RETRY_SECONDS
        if decided.status.phase is not decision.status.phase:
            _log.info("%s: %s", ref, decision.describe_transition())
        if decision.is_decisive:
            self._publish(manifest, record.keep_true(decided.events, recorded))
            return _RECORDED
        if observation.removes_foreign(decision.observed, decided):
            # This job may be deleted and created again by now: then these objects may belong to its successor. A live
            # GET after they were observed rules that out.
            await self._recorder.check_uid(ref, job.uid)
        outcome = await self._executor.apply_actions(job, decided.actions, self._build_watch(ref, manifest))
        state.refused = read_refusal(outcome.failures, decision.observed.refused)
        if self._room is not None:
            self._room.note(ref, state.refused)
        if state.note_asked(decided.actions, outcome.unmet, self._readings.clock()):
            self._queue.put_off(ref, _SOON)
        self._publish(manifest, decided.events)
        if decided.wants_stacks:
            self._readings.programs.take_stacks(
                {pod.uid: str(pod.rank) for pod in decision.observed.gang(decision.status)}
            )
        self._watch_names(ref, outcome.blocked)
        # A terminating namespace refuses all creates, of events too, until it is gone, and the job with it.
        messages = [str(failure) for failure in outcome.failures if not is_namespace_terminating(failure.error)]
        if messages:
            self._publish(manifest, (EventNote("ActionFailed", text, "Warning") for text in messages))
            if self._room is not None and state.note_refused(decision.observed.refused):
                self._queue.put_off(ref, _SOON)  # to record it; the next try may be a minute away
            raise ActionsFailed("; ".join(messages[:3]))
        if outcome.stale:
            raise Conflict(f"what {ref} was to act on was written meanwhile")
        return 0.0 if self._goes_on(ref, decided, outcome) else outcome.look_again(decided.requeue_after)

    def _build_watch(self, ref: JobRef, decided_on: Manifest) -> Callable[[], bool]:
        """Tells whether the job, as far as is known, was neither deleted, nor suspended or edited, since this was read.
        It is asked before each pod, so each version of the job is read once."""
        wished, seen, stands = _read_wishes(decided_on), version_of(decided_on), True

        def ask() -> bool:
            nonlocal seen, stands
            if (version := self._informers.version(*ref)) != seen:
                cached = self._informers.get(*ref)
                seen, stands = version, cached is not None and _read_wishes(cached) == wished
            return stands

        return ask

    def _goes_on(self, ref: JobRef, decided: Plan, outcome: Outcome) -> bool:
        """Whether more follows at once from what was created: no event of an own write queues a job."""
        refused = {(failure.action.resource, failure.action.key) for failure in outcome.failures}
        needed = (each for each in decided.actions if isinstance(each, Create) and not each.optional)
        created = {each.resource for each in needed if (each.resource, each.key) not in refused}
        if created:
            self._queue.put_off(ref, _SOON)  # to count it
        return bool(created) and not created & {PODS, SERVICES, CONFIG_MAPS}

    def _put_off(self, ref: JobRef, decision: Decision) -> bool:
        """Whether what is to be recorded waits, for other changes and for work that is more urgent."""
        state, status, now = self._states[ref], decision.plan.status, self._readings.steady()
        # The first record of a kind in the life of this process: its answer tells whether the definition keeps it.
        if not self._pruned.keeps(ref.resource) or not can_wait(decision.recorded, status):
            return False
        unchanged, waited = state.measure_wait(status, now)
        pressed = self._queue.presses()
        due = unchanged >= PROGRESS_SECONDS or waited >= MOST_SECONDS
        if due and not (pressed and waited < PATIENCE):
            return False
        if pressed and self._freshness.wants_proof(ref.resource, self._informers.watched_as(ref.key.namespace)):
            return False
        state.put_off(uid_of(decision.manifest), decision.recorded, status, now)
        self._queue.put_off(ref, max(PROGRESS_SECONDS - unchanged, _SOON))
        return True

    def _report(self, ref: JobRef, decision: Decision) -> None:
        """Once for each manifest, and once in the life of this process."""
        state, manifest, job, refusal = self._states[ref], decision.manifest, decision.job, decision.refusal
        notes = map(_build_warning, job.warnings) if refusal is None else _build_refusal(refusal)
        self._publish(manifest, state.note_reading(metadata(manifest).get("generation"), notes))
        note = explain_none(job, decision.plan.status, self._informers.why_no_autoscalers(ref.key.namespace))
        if note is not None and not state.told_no_autoscaler:
            state.told_no_autoscaler = True
            self._publish(manifest, (note,))
        note = explain_unseen(job, decision.plan.status, decision.observed)
        if note is not None and not state.told_unseen:
            self._publish(manifest, (note,))
        state.told_unseen = note is not None

    def _report_unknown(self, ref: JobRef, manifest: Manifest, phase: str) -> None:
        """Once in the life of this process: a status that a later version has written is left as it is."""
        state = self._states[ref]
        if state.told_unknown == phase:
            return
        state.told_unknown = phase
        said = (
            f'status.phase is "{phase}", which this version of Paddock ({BUILD}) does not know: a later one has '
            "written it. This job is left as it is until that version runs again, or status.phase is one of "
            f"{', '.join(each for each in Phase if each)}"
        )
        _log.warning("%s: %s", ref, said)
        self._publish(manifest, (EventNote("PhaseUnknown", said, "Warning"),))

    async def _record_invalid(self, ref: JobRef, manifest: Manifest, status: Status, refusal: InvalidJob) -> None:
        """Records the errors of a manifest that was never valid, with one event. Only an edit can change them."""
        if status.phase.terminal:
            return
        state = self._states[ref]
        await self._recorder.record(
            ref, state, manifest, record.with_invalid_job(status, refusal, self._readings.clock())
        )
        self._publish(manifest, state.note_reading(metadata(manifest).get("generation"), _build_refusal(refusal)))

    def _is_taken(self, ref: JobRef, observed: Observed, decided: Plan) -> bool:
        """Whether another job has reserved the port that this plan has chosen, while it was made. A port that pods of
        the job carry was chosen before, and is kept whoever claims it."""
        port = next(filter(None, map(observation.read_planned_port, decided.actions)), None)
        if port is None or any(pod.port == port for pod in observed.pods):
            return False
        return any(state.port == port for other, state in self._states.items() if other != ref)

    def _reserve_port(self, ref: JobRef, decided: Plan) -> None:
        """Reserves the port that this job has chosen, before the next await: concurrent reconciles see it."""
        state = self._states[ref]
        if decided.status.phase.terminal:
            state.port = None
        state.port = next(filter(None, map(observation.read_planned_port, decided.actions)), state.port)

    def _publish(self, manifest: Manifest, notes: Iterable[EventNote]) -> None:
        for note in notes:
            self._events.publish(manifest, note.reason, note.message, note.type)


def _read_wishes(manifest: Manifest) -> tuple[object, ...]:
    """What changes when a user wants something else of the job: a cancellation is an annotation."""
    return (
        uid_of(manifest),
        metadata(manifest).get("generation"),
        is_deleting(manifest),
        annotations_of(manifest).get(CANCEL_ANNOTATION),
    )


def _build_refusal(refusal: InvalidJob) -> list[EventNote]:
    return [EventNote(record.INVALID, str(refusal), "Warning")]


def _build_warning(warning: Problem) -> EventNote:
    return EventNote("ManifestWarning", f"{warning.path}: {warning.message}", "Warning")
