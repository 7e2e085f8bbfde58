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
from paddock.jobs.model import Create, EventNote, Job, Observed, Plan, Settings, Status
from paddock.jobs.plan import plan
from paddock.jobs.problems import InvalidJob, Problem
from paddock.kube.api import Api
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Key, Manifest, Resource, metadata, version_of
from paddock.kube.times import Moment
from paddock.operator import observe, record
from paddock.operator.apply import Hands
from paddock.operator.events import Events
from paddock.operator.views import Views

_HALT = 60.0
"""Seconds until a kind whose status the server drops is tried again."""

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
        self._halted: dict[Resource, Moment] = {}

    async def run_pass(self, ref: JobRef) -> float | None:
        """One pass. Seconds until the next is due by itself, or None. Raises `ApiError`, `ActionsFailed`."""
        now = self._clock()
        if (until := self._halted.get(ref.resource, now)) > now:
            return until - now
        try:
            manifest = await self._api.get(ref.resource, *ref.key)
            return await self._read(ref, manifest)
        except NotFound:
            self._memories.pop(ref, None)
            return None

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
        observed = self._observe(ref, status, job)
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
            return _HALT
        if decisive:
            self._publish(manifest, decided.events)
            return 0.0
        outcome = await self._hands.apply_actions(job, decided.actions)
        self._publish(manifest, decided.events)
        in_the_way = [(child.resource, Key(job.key.namespace, child.name)) for child in observed.foreign]
        for name in (*outcome.blocked, *in_the_way):
            self._blocked.setdefault(name, set()).add(ref)
        if outcome.failures:
            said = [str(failure) for failure in outcome.failures]
            self._publish(manifest, (EventNote("ActionFailed", text, "Warning") for text in said))
            raise ActionsFailed("; ".join(said[:3]))
        return 0.0 if outcome.again or outcome.blocked else decided.requeue_after

    def _observe(self, ref: JobRef, status: Status, job: Job) -> Observed:
        """Ports are looked up only where pods share them, and are to be made: the machine has to be asked."""
        groups = self._settings.pod_groups
        observed = observe.read_observed(job, status.attempt, self._views, pod_groups=groups)
        wanted = not status.phase.terminal and observe.missing_pods(job, status, observed)
        if not self._settings.shared_network or not wanted:
            return observed
        handed = frozenset(memory.port for other, memory in self._memories.items() if memory.port and other != ref)
        held = self._views.held_ports(but=job.uid)
        return replace(observed, taken_ports=handed | held | self._taken_ports())

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
            return True
        try:
            answer = await self._write_status(ref, record.build_status_patch(manifest, difference))
            lost = record.read_lost(answer, difference)
        except NotFound:  # the job is gone, which this says again; or the kind has no status of its own
            await self._api.get(ref.resource, *ref.key)
            lost = tuple(difference)
        if lost:
            self._halt(ref, manifest, lost)
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

    def _halt(self, ref: JobRef, manifest: Manifest, lost: Iterable[str]) -> None:
        fields = ", ".join(f"status.{name}" for name in lost)
        message = (
            f"the API server drops {fields} of every {ref.resource.kind}: its CustomResourceDefinition is not the one "
            "of this operator. Nothing is done for this kind until that is installed (`paddock manifests` prints it)"
        )
        self._halted[ref.resource] = self._clock() + _HALT
        _log.error("%s: %s", ref, message)
        self._publish(manifest, [EventNote("StatusDropped", message, "Warning")])

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


def _build_warning(warning: Problem) -> EventNote:
    return EventNote("ManifestWarning", f"{warning.path}: {warning.message}", "Warning")
