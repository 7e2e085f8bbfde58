"""Reconciles one job: read, decide, record, act, in this order. `jobs.plan` makes the decision.

Rules: docs/architecture.md, "Rules that keep it correct". The job is read live, its children from the caches. A live
GET confirms an absence before it decides anything. A decision is recorded, and read back, before it is acted on. A
reconcile that changes something decisive ends after the record; the next one acts on it.

A reconcile may stop anywhere, by an error or with the process: the next one starts from the API alone. It raises an
`ApiError` where a later reconcile may succeed. `operator.operator` starts reconciles, `operator.apply` sends actions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from paddock.controllers.events import EventRecorder
from paddock.jobs.actions import Create, EventNote, Plan
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.last_valid import with_last_valid_spec
from paddock.jobs.datasets import find_awaited
from paddock.jobs.model import Job, NodeCondition, NodeState, Observed, Refusal, Settings, Status
from paddock.jobs.objects import observation
from paddock.jobs.plan import plan
from paddock.jobs.policies import silent_nodes
from paddock.jobs.policies.autoscaler import explain_none
from paddock.jobs.policies.lost import overdue
from paddock.jobs.policies.manager import find_other_manager
from paddock.jobs.policies.ports import shares_network
from paddock.jobs.policies.release import plan_release
from paddock.jobs.text.explain import explain
from paddock.jobs.text.problems import InvalidJob, Problem
from paddock.jobs.waiting import read_recorded_refusal
from paddock.kube.api import Api
from paddock.kube.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, is_namespace_terminating
from paddock.kube.meta import DATASETS, NODES, PODS, Key, Manifest, Resource, metadata, uid_of, version_of
from paddock.kube.times import Moment
from paddock.operator import pruned_status, record
from paddock.operator.apply import Executor, read_refusal
from paddock.operator.datasets import WatchedDatasets
from paddock.operator.informers import Informers
from paddock.operator.metrics import UNMEASURED, Measures
from paddock.operator.pruned_status import PrunedStatusGuard
from paddock.operator.tally import Tally

_RETRY_SECONDS = 0.5
"""Until the next reconcile when a live GET found a pod that the cache did not have."""

_REMEMBERED_WRITES = 8
"""Status writes of a job that are recognized when the watch delivers them."""

_log = logging.getLogger(__name__)


class JobRef(NamedTuple):
    """The key of the operator's queue."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"


class ActionsFailed(Exception):
    """Some actions of a reconcile were refused: events name them, and the job is reconciled again."""


@dataclass(slots=True)
class _LocalState:
    """State of one job in this process only: what it has reported, the port that it has reserved before pods have it,
    and the versions that it wrote. `seen_during_write`: versions that the watch delivered during a write, else None."""

    port: int | None = None
    written: tuple[str, ...] = ()
    seen_during_write: set[str] | None = None
    reported_generation: Any = None
    told_no_autoscaler: bool = False
    refused: Refusal | None = None


class Controller:
    """`clock`, `clock_off`, `taken_ports`: as in `Operator`; `wake` queues a job. `measures` takes the metrics; `term`
    is that of `operator.tally`."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        informers: Informers,
        datasets: WatchedDatasets,
        events: EventRecorder,
        *,
        kinds: Mapping[Resource, JobApi],
        clock: Callable[[], Moment],
        clock_off: Callable[[], float],
        taken_ports: Callable[[], frozenset[int]],
        wake: Callable[[JobRef], None],
        measures: Measures = UNMEASURED,
        term: Callable[[], object] = lambda: None,
    ) -> None:
        self._wake = wake
        self._api = api
        self._settings = settings
        self._informers = informers
        self._datasets = datasets
        self._events = events
        self._kinds = kinds
        self._clock = clock
        self._clock_off = clock_off
        self._taken_ports = taken_ports
        self._executor = Executor(api, informers, clock)
        self._states: dict[JobRef, _LocalState] = {}
        self._waiting_for: dict[tuple[Resource, Key], set[JobRef]] = {}
        self._pruned = PrunedStatusGuard(api, events, clock, measures)
        self._tally = Tally(measures, term)

    async def reconcile(self, ref: JobRef) -> float | None:
        """Reconcile one job. Seconds until the next reconcile without an event, or None. Raises `ApiError`,
        `ActionsFailed`."""
        retry_in = self._pruned.retry_in(ref.resource)
        try:
            if retry_in:
                await self._annotate_halted(ref)
                return retry_in
            manifest = await self._api.get(ref.resource, *ref.key)
            if find_other_manager(manifest):
                self._states.pop(ref, None)
                return None
            return await self._reconcile_job(ref, await self._remove_legacy_finalizer(ref, manifest))
        except NotFound:
            self._states.pop(ref, None)
            self._tally.forget(ref)
            return None

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
        state, version = self._states.get(ref), version_of(manifest)
        if state is None and find_other_manager(manifest):
            return
        # During a write its version is not known yet, and the watch may be faster than the answer: judge it afterwards.
        if state is not None and state.seen_during_write is not None:
            state.seen_during_write.add(version)
        elif state is None or version not in state.written:
            self._wake(ref)

    def on_object_event(self, resource: Resource, key: Key) -> None:
        """This object was added, changed or deleted: queue the jobs that wait for its name."""
        for ref in self._waiting_for.pop((resource, key), ()):
            self._wake(ref)

    def _watch_names(self, ref: JobRef, names: Iterable[tuple[Resource, Key]]) -> None:
        """The next event of one of these objects queues the job (`on_object_event`)."""
        for name in names:
            self._waiting_for.setdefault(name, set()).add(ref)

    async def _remove_legacy_finalizer(self, ref: JobRef, manifest: Manifest) -> Manifest:
        """The job without paddle-operator's finalizer. If the server refuses the patch, an event says so, and the job
        keeps it."""
        patch = plan_release(manifest)
        if patch is None:
            return manifest
        try:
            return await self._api.patch(ref.resource, *ref.key, patch)
        except (BadRequest, Forbidden, Invalid) as error:
            message = (
                f"cannot take off the finalizer of paddle-operator, which delays the job's deletion: {error.message}"
            )
            self._publish(manifest, [EventNote("FinalizerStays", message, "Warning")])
            return manifest

    async def _reconcile_job(self, ref: JobRef, manifest: Manifest) -> float | None:
        kind, state = self._kinds[ref.resource], self._states.setdefault(ref, _LocalState())
        generation = metadata(manifest).get("generation")
        new_generation, state.reported_generation = state.reported_generation != generation, generation
        status = kind.read_status(manifest)
        try:
            job, refusal = _read_job(kind, manifest, status)
        except InvalidJob as invalid:
            await self._record_invalid(ref, manifest, status, invalid, new_generation=new_generation)
            return None
        if new_generation:
            self._publish(manifest, map(_build_warning, job.warnings) if refusal is None else _build_refusal(refusal))
        self._tally.settle(ref, manifest, status)
        nodes = await self._fetch_nodes(job, status)
        refused = state.refused or read_recorded_refusal(status.cause)
        observed = replace(self._observe(ref, status, job), nodes=nodes, refused=refused)
        # Before the next await: a foreign object may go while the status is written, and its event comes once.
        self._watch_names(ref, ((child.resource, Key(job.key.namespace, child.name)) for child in observed.foreign))
        if not observed.gang(status) and not status.phase.terminal:
            awaited = find_awaited(job, observed.datasets)
            self._watch_names(ref, ((DATASETS, Key(job.key.namespace, name)) for name in awaited))
        now = self._clock()
        observed = replace(observed, clock_off=int(self._clock_off()))
        settings = replace(self._settings, autoscalers=self._informers.autoscalers(ref.key.namespace))
        decided = plan(job, status, observed, now, settings)
        self._tell_of_autoscaler(ref, manifest, job, decided.status)
        recorded = record.with_problem(decided.status, refusal, now)
        if refusal is None:
            recorded = record.with_valid_spec(recorded, status, manifest, first_look=new_generation)
        decided = replace(decided, status=recorded)
        return await self._execute(ref, manifest, job, status, observed, decided)

    async def _execute(
        self, ref: JobRef, manifest: Manifest, job: Job, status: Status, observed: Observed, decided: Plan
    ) -> float | None:
        decisive = decided.status.decisive() != status.decisive()
        if await self._has_unseen_pod(job, status, observed, decided):
            return _RETRY_SECONDS
        self._reserve_port(ref, decided)
        if not await self._record(ref, manifest, decided.status):
            return pruned_status.RETRY_SECONDS
        if decided.status.phase is not status.phase:
            _log.info("%s: %s", ref, _describe_transition(status, decided.status))
        if decisive:
            self._publish(manifest, decided.events)
            return 0.0
        if observation.removes_foreign(observed, decided):
            # This job may be deleted and created again by now: then these objects may belong to its successor. A live
            # GET after they were observed rules that out.
            await self._check_uid(ref, job.uid)
        outcome = await self._executor.apply_actions(job, decided.actions)
        self._states[ref].refused = read_refusal(outcome.failures, observed.refused)
        self._publish(manifest, decided.events)
        self._watch_names(ref, outcome.blocked)
        # A terminating namespace refuses all creates, of events too, until it is gone, and the job with it.
        failures = [failure for failure in outcome.failures if not is_namespace_terminating(failure.error)]
        if failures:
            messages = [str(failure) for failure in failures]
            self._publish(manifest, (EventNote("ActionFailed", text, "Warning") for text in messages))
            raise ActionsFailed("; ".join(messages[:3]))
        if outcome.stale:
            raise Conflict(f"what {ref} was to act on was written meanwhile")
        return 0.0 if outcome.blocked else decided.requeue_after

    async def _check_uid(self, ref: JobRef, uid: str) -> None:
        """Raises `Conflict` if another job has this name by now, `NotFound` if none has."""
        if uid_of(await self._api.get(ref.resource, *ref.key)) != uid:
            raise Conflict(f"{ref} was made again under its name")

    def _observe(self, ref: JobRef, status: Status, job: Job) -> Observed:
        """The children of the job from the caches. The ports of this machine are read only if the job needs
        new pods and these share its network."""
        groups, scalers = self._settings.pod_groups, self._informers.autoscalers(ref.key.namespace)
        observed = observation.read_observed(
            job, status.attempt, self._informers, pod_groups=groups, autoscalers=scalers
        )
        observed = replace(observed, datasets=observation.read_datasets(job, self._datasets))
        creates_pods = not status.phase.terminal and observation.missing_pods(job, status, observed)
        if not creates_pods or not shares_network(job, self._settings):
            return observed
        reserved = frozenset(state.port for other, state in self._states.items() if state.port and other != ref)
        held = self._informers.held_ports(excluding=job.uid)
        return replace(observed, taken_ports=reserved | held | self._taken_ports())

    async def _fetch_nodes(self, job: Job, status: Status) -> dict[str, NodeCondition]:
        """The nodes of overdue pods, and of pods that do not start. Nodes are not watched: those of a fleet change all
        the time."""
        # Called before `_observe`: between the reading of the caches and the decision, nothing is awaited.
        now, late = self._clock(), overdue(observation.read_leaving(job, self._informers), self._clock())
        names = {pod.node for pod in late}
        if not status.phase.terminal and silent_nodes.is_due(status.cause, now):
            names |= set(silent_nodes.doubtful_nodes(observation.read_pods(job, self._informers), status.cause, now))
        return {name: await self._fetch_node(name) for name in sorted(names)}

    async def _fetch_node(self, name: str) -> NodeCondition:
        try:
            return observation.read_node(await self._api.get(NODES, "", name))
        except NotFound:
            return NodeCondition(NodeState.GONE)
        except Forbidden:
            return NodeCondition(NodeState.UNKNOWN)

    async def _has_unseen_pod(self, job: Job, status: Status, observed: Observed, decided: Plan) -> bool:
        """Whether a pod exists that the cache does not have. Asked only if the decision may depend on its absence."""
        before, after = status, decided.status
        ends_pods = after.attempt != before.attempt or after.renewals != before.renewals
        ends_job = after.phase.terminal and not before.phase.terminal
        # A gang of which no pod is seen takes another size in its attempt: none was started with the old one.
        if not (ends_pods or ends_job or (before.sizes and after.sizes != before.sizes)):
            return False
        return await self._executor.fetch_unseen(job, status, observation.missing_pods(job, status, observed))

    async def _record(self, ref: JobRef, manifest: Manifest, status: Status) -> bool:
        """Writes the status; False if the server dropped fields. Raises `Conflict` if the job has changed since it was
        read: the decision is outdated then."""
        raw, kind = record.read_raw_status(manifest), self._kinds[ref.resource]
        difference = record.build_difference(raw, kind.write_status(raw, status, self._clock(), manifest))
        if not difference:
            await self._pruned.clear(ref.resource, manifest)
            return True
        try:
            with self._tally.writing(ref, manifest, kind.read_status(manifest), status) as write:
                answer = await self._write_status(ref, record.build_status_patch(manifest, difference))
                dropped = record.find_dropped(answer, difference)
                write.kept = not dropped
        except NotFound:  # the job is gone (raised again by the check), or its CRD has no status subresource
            await self._check_uid(ref, uid_of(manifest))
            dropped = tuple(difference)
        if dropped:
            await self._pruned.halt(ref.resource, manifest, dropped)
        else:
            await self._pruned.resume(ref.resource, manifest)
        return not dropped

    async def _write_status(self, ref: JobRef, patch: Manifest) -> Manifest:
        state = self._states[ref]
        state.seen_during_write = set()
        try:
            answer = await self._api.patch(ref.resource, *ref.key, patch, subresource="status")
            state.written = (*state.written, version_of(answer))[-_REMEMBERED_WRITES:]
            if state.seen_during_write.difference(state.written):
                self._wake(ref)
            return answer
        finally:
            state.seen_during_write = None

    async def _record_invalid(
        self, ref: JobRef, manifest: Manifest, status: Status, refusal: InvalidJob, *, new_generation: bool
    ) -> None:
        """Records the errors of a manifest that was never valid, with one event. Only an edit can change them."""
        if status.phase.terminal:
            return
        await self._record(ref, manifest, record.with_invalid_job(status, refusal, self._clock()))
        if new_generation:
            self._publish(manifest, _build_refusal(refusal))

    def _reserve_port(self, ref: JobRef, decided: Plan) -> None:
        """Reserves the port that this job has chosen, before the next await: concurrent reconciles see it."""
        state = self._states[ref]
        if decided.status.phase.terminal:
            state.port = None
        for action in decided.actions:
            if isinstance(action, Create) and action.resource == PODS:
                state.port = observation.read_held_port(action.manifest) or state.port

    def _tell_of_autoscaler(self, ref: JobRef, manifest: Manifest, job: Job, status: Status) -> None:
        """Once in the life of this process."""
        state, why = self._states[ref], self._informers.why_no_autoscalers(ref.key.namespace)
        note = None if state.told_no_autoscaler else explain_none(job, status, why)
        if note is not None:
            state.told_no_autoscaler = True
            self._publish(manifest, (note,))

    def _publish(self, manifest: Manifest, notes: Iterable[EventNote]) -> None:
        for note in notes:
            self._events.publish(manifest, note.reason, note.message, note.type)


def _read_job(kind: JobApi, manifest: Manifest, status: Status) -> tuple[Job, InvalidJob | None]:
    """The job as it is supervised, and what is wrong in its manifest: then the last valid spec is followed, as an edit
    must not end the supervision of a job that trains. Raises `InvalidJob` if there was none."""
    try:
        return kind.read_job(manifest), None
    except InvalidJob as refusal:
        before = with_last_valid_spec(manifest, status.last_valid)
        if before is None:
            raise
        with suppress(InvalidJob):  # another version of Paddock took it for valid
            return kind.read_job(before), refusal
        raise


def _build_refusal(refusal: InvalidJob) -> list[EventNote]:
    return [EventNote(record.INVALID, str(refusal), "Warning")]


def _describe_transition(before: Status, now: Status) -> str:
    """For the log: `Running -> Failed: worker-0 …`."""
    why = f": {explain(now.cause)}" if now.cause else ""
    return f"{before.phase or 'new'} -> {now.phase}{why}"


def _build_warning(warning: Problem) -> EventNote:
    return EventNote("ManifestWarning", f"{warning.path}: {warning.message}", "Warning")
