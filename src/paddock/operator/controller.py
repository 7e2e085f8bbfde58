"""One pass over one job: read, decide, record, act. The order is the promise; what is decided is `jobs.plan`'s.

The rules are those of docs/architecture.md, "Rules that keep it correct": the job is read live and its children from
the caches; an absence is doubted before anything is made of it; what is decided is recorded, and read back, before
anybody acts on it; a pass that changed something decisive ends there, and the next one acts from what is recorded.

A pass may stop anywhere, by an error or with the process: the next one begins from the API alone. It raises `ApiError`s
for what a later pass may find mended. When passes run is `operator.operator`; how actions are sent, `operator.apply`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from paddock.jobs.apis import JobApi
from paddock.jobs.explain import explain
from paddock.jobs.model import (
    Create,
    EventNote,
    Job,
    NodeCondition,
    NodeState,
    Observed,
    Plan,
    Refusal,
    Settings,
    Status,
)
from paddock.jobs.plan import plan
from paddock.jobs.policies.lost import overdue
from paddock.jobs.policies.ports import shares_network
from paddock.jobs.policies.release import plan_release
from paddock.jobs.problems import InvalidJob, Problem
from paddock.kube.api import Api
from paddock.kube.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, is_namespace_terminating
from paddock.kube.meta import NODES, PODS, Key, Manifest, Resource, metadata, uid_of, version_of
from paddock.kube.times import Moment
from paddock.operator import halts, observe, record
from paddock.operator.apply import Hands, read_refusal
from paddock.operator.events import Events
from paddock.operator.halts import Halts
from paddock.operator.views import Views

_SOON = 0.5

_ECHOES = 8
"""Own writes of a job that are known again when the watch tells them."""

_log = logging.getLogger(__name__)


class JobRef(NamedTuple):
    """The key of the operator's queue."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"


class ActionsFailed(Exception):
    """Some actions of a pass were refused; the events say which, and the pass comes back."""


@dataclass(slots=True)
class _Memory:
    """What this process knows of one job beyond the API: to say things once, to hold a port before pods show it, and
    to know its own writes again. `heard`: versions that the watch told while a write was on its way, else None."""

    port: int | None = None
    written: tuple[str, ...] = ()
    heard: set[str] | None = None
    told_generation: Any = None
    refused: Refusal | None = None


class Controller:
    """`clock` in seconds since the epoch; `taken_ports`: what this machine listens on; `wake` calls for a pass."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        views: Views,
        events: Events,
        *,
        kinds: Mapping[Resource, JobApi],
        clock: Callable[[], Moment],
        taken_ports: Callable[[], frozenset[int]],
        wake: Callable[[JobRef], None],
    ) -> None:
        self._wake = wake
        self._api = api
        self._settings = settings
        self._views = views
        self._events = events
        self._kinds = kinds
        self._clock = clock
        self._taken_ports = taken_ports
        self._hands = Hands(api, views, clock)
        self._memories: dict[JobRef, _Memory] = {}
        self._blocked: dict[tuple[Resource, Key], set[JobRef]] = {}
        self._halts = Halts(api, events, clock)

    async def run_pass(self, ref: JobRef) -> float | None:
        """One pass. Seconds until the next is due by itself, or None. Raises `ApiError`, `ActionsFailed`."""
        left = self._halts.left(ref.resource)
        try:
            if left:
                await self._tell_halted(ref)
                return left
            manifest = await self._api.get(ref.resource, *ref.key)
            return await self._read(ref, await self._release(ref, manifest))
        except NotFound:
            self._memories.pop(ref, None)
            return None

    async def _tell_halted(self, ref: JobRef) -> None:
        """Nothing is done for it but that it is let go: to end a halt, its definition may have to go."""
        if (known := self._views.get(*ref)) is None:
            return
        job = await self._release(ref, known)
        if not self._kinds[ref.resource].read_status(job).phase.terminal:
            await self._halts.tell(ref.resource, job)

    def hear_job(self, ref: JobRef, manifest: Manifest) -> None:
        """A job came, changed or went. What this operator wrote itself calls for no pass; as the watch may be faster
        than the answer, what comes during a write is judged after it."""
        memory, version = self._memories.get(ref), version_of(manifest)
        if memory is not None and memory.heard is not None:
            memory.heard.add(version)
        elif memory is None or version not in memory.written:
            self._wake(ref)

    def hear_name(self, resource: Resource, key: Key) -> None:
        """Something happened to this object: the jobs that it was in the way of look again."""
        for ref in self._blocked.pop((resource, key), ()):
            self._wake(ref)

    async def _release(self, ref: JobRef, manifest: Manifest) -> Manifest:
        """The job without a former operator's finalizer. Where that is not allowed, it is said and goes on with it."""
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

    async def _read(self, ref: JobRef, manifest: Manifest) -> float | None:
        kind, memory = self._kinds[ref.resource], self._memories.setdefault(ref, _Memory())
        generation = metadata(manifest).get("generation")
        news, memory.told_generation = memory.told_generation != generation, generation
        try:
            job = kind.read_job(manifest)
        except InvalidJob as refusal:
            await self._refuse(ref, manifest, refusal, news=news)
            return None
        if news:
            self._publish(manifest, map(_build_warning, job.warnings))
        status = kind.read_status(manifest)
        nodes = await self._fetch_nodes(job)
        observed = replace(self._observe(ref, status, job), nodes=nodes, refused=memory.refused)
        decided = plan(job, status, observed, self._clock(), self._settings)
        return await self._carry_out(ref, manifest, job, status, observed, decided)

    async def _carry_out(
        self, ref: JobRef, manifest: Manifest, job: Job, status: Status, observed: Observed, decided: Plan
    ) -> float | None:
        decisive = decided.status.decisive() != status.decisive()
        if decisive and await self._misses_a_pod(job, status, observed, decided):
            return _SOON
        self._hold_port(ref, decided)
        if not await self._record(ref, manifest, decided.status):
            return halts.SECONDS
        if decided.status.phase is not status.phase:
            _log.info("%s: %s", ref, _build_step(status, decided.status))
        if decisive:
            self._publish(manifest, decided.events)
            return 0.0
        if observe.removes_foreign(observed, decided):
            # What was taken for a former job's may be the next one's, if this job is the former one by now. What was
            # there before the answer is not of a job that comes after it.
            await self._demand_current(ref, job.uid)
        outcome = await self._hands.apply_actions(job, decided.actions)
        self._memories[ref].refused = read_refusal(outcome.failures)
        self._publish(manifest, decided.events)
        in_the_way = [(child.resource, Key(job.key.namespace, child.name)) for child in observed.foreign]
        for name in (*outcome.blocked, *in_the_way):
            self._blocked.setdefault(name, set()).add(ref)
        # A namespace that is being deleted refuses for good, events about it too: the job goes with it.
        failures = [failure for failure in outcome.failures if not is_namespace_terminating(failure.error)]
        if failures:
            said = [str(failure) for failure in failures]
            self._publish(manifest, (EventNote("ActionFailed", text, "Warning") for text in said))
            raise ActionsFailed("; ".join(said[:3]))
        if outcome.again:
            raise Conflict(f"what {ref} was to act on was written meanwhile")
        return 0.0 if outcome.blocked else decided.requeue_after

    async def _demand_current(self, ref: JobRef, uid: str) -> None:
        """Raises `Conflict` where another job has the name by now, `NotFound` where none has."""
        if uid_of(await self._api.get(ref.resource, *ref.key)) != uid:
            raise Conflict(f"{ref} was made again under its name")

    def _observe(self, ref: JobRef, status: Status, job: Job) -> Observed:
        """Ports are looked up only where pods share them, and are to be made: the machine has to be asked."""
        groups = self._settings.pod_groups
        observed = observe.read_observed(job, status.attempt, self._views, pod_groups=groups)
        wanted = not status.phase.terminal and observe.missing_pods(job, status, observed)
        if not wanted or not shares_network(job, self._settings):
            return observed
        handed = frozenset(memory.port for other, memory in self._memories.items() if memory.port and other != ref)
        held = self._views.held_ports(but=job.uid)
        return replace(observed, taken_ports=handed | held | self._taken_ports())

    async def _fetch_nodes(self, job: Job) -> dict[str, NodeCondition]:
        """Only those that hold pods for too long. They are not watched: a fleet's nodes change all the time. What is
        observed is read after this: from there on, nothing is awaited until the decision is made."""
        names = sorted({pod.node for pod in overdue(observe.read_leaving(job, self._views), self._clock())})
        return {name: await self._fetch_node(name) for name in names}

    async def _fetch_node(self, name: str) -> NodeCondition:
        try:
            return observe.read_node(await self._api.get(NODES, "", name))
        except NotFound:
            return NodeCondition(NodeState.GONE)
        except Forbidden:
            return NodeCondition(NodeState.UNKNOWN)

    async def _misses_a_pod(self, job: Job, status: Status, observed: Observed, decided: Plan) -> bool:
        """A pod that the cache does not show may exist. Before its absence decides anything, it is asked for."""
        if decided.status.attempt == status.attempt and not decided.status.phase.terminal:
            return False
        return await self._hands.fetch_missed(job, status.attempt, observe.missing_pods(job, status, observed))

    async def _record(self, ref: JobRef, manifest: Manifest, status: Status) -> bool:
        """Whether the API has it now. `Conflict` when the job has moved on: this pass is worth nothing then."""
        raw = record.read_raw_status(manifest)
        difference = record.build_difference(raw, self._kinds[ref.resource].write_status(raw, status, self._clock()))
        if not difference:
            await self._halts.clear(ref.resource, manifest)
            return True
        try:
            answer = await self._write_status(ref, record.build_status_patch(manifest, difference))
            lost = record.read_lost(answer, difference)
        except NotFound:  # the job is gone, which this says again; or the kind has no status of its own
            await self._demand_current(ref, uid_of(manifest))
            lost = tuple(difference)
        if lost:
            await self._halts.begin(ref.resource, manifest, lost)
        else:
            await self._halts.lift(ref.resource, manifest)
        return not lost

    async def _write_status(self, ref: JobRef, patch: Manifest) -> Manifest:
        memory = self._memories[ref]
        memory.heard = set()
        try:
            answer = await self._api.patch(ref.resource, *ref.key, patch, subresource="status")
            memory.written = (*memory.written, version_of(answer))[-_ECHOES:]
            if memory.heard.difference(memory.written):
                self._wake(ref)
            return answer
        finally:
            memory.heard = None

    async def _refuse(self, ref: JobRef, manifest: Manifest, refusal: InvalidJob, *, news: bool) -> None:
        """The user's mistake is recorded and said once; only another version of the manifest is worth another look."""
        status = self._kinds[ref.resource].read_status(manifest)
        if status.phase.terminal:
            return
        await self._record(ref, manifest, record.with_refusal(status, refusal, self._clock()))
        if news:
            self._publish(manifest, [EventNote(record.INVALID, str(refusal), "Warning")])

    def _hold_port(self, ref: JobRef, decided: Plan) -> None:
        """Before anything is awaited: no other pass may be given the port that this one has chosen."""
        memory = self._memories[ref]
        if decided.status.phase.terminal:
            memory.port = None
        for action in decided.actions:
            if isinstance(action, Create) and action.resource == PODS:
                memory.port = observe.read_held_port(action.manifest) or memory.port

    def _publish(self, manifest: Manifest, notes: Iterable[EventNote]) -> None:
        for note in notes:
            self._events.publish(manifest, note)


def _build_step(before: Status, now: Status) -> str:
    """`Running -> Failed: worker-0 …`, for the log."""
    why = f": {explain(now.cause)}" if now.cause else ""
    return f"{before.phase or 'new'} -> {now.phase}{why}"


def _build_warning(warning: Problem) -> EventNote:
    return EventNote("ManifestWarning", f"{warning.path}: {warning.message}", "Warning")
