"""The operator process: reconciles every training job with its manifest. Runs until cancelled.

Informers watch jobs and their children. The key of a job enters the work queue when the job or a child changes, or when
a requeue is due. Reconciles (`operator.controller`) run concurrently, one at a time for each job. The operator needs
only an `Api`, so it serves a cluster and a laptop alike. An idle operator sends no requests.

Several operators are safe: object names are deterministic and status writes carry a resourceVersion. With leader
election (`operator.election`) one reconciles, and begins no request once its Lease has ended (`operator.passes`). With
shards (`operator.sharing`) each of several operators reconciles the jobs of the namespaces that it leads; all watch
all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Container, Mapping, Sequence
from typing import Any

from paddock.controllers.events import EventRecorder
from paddock.controllers.queue import WorkQueue
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import Settings
from paddock.jobs.objects.observation import owner_in
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Conflict
from paddock.kube.meta import DATASETS, PODS, Key, Manifest, Resource, key_of, namespace_of
from paddock.operator.controller import ActionsFailed, Controller
from paddock.operator.datasets import WatchedDatasets
from paddock.operator.election import WITHOUT_ELECTION, Leadership
from paddock.operator.informers import Informers
from paddock.operator.job_state import JobRef
from paddock.operator.metrics import UNMEASURED, Measures, Result
from paddock.operator.notices import Notices
from paddock.operator.passes import Passes, begin_pass
from paddock.operator.quotas import GangRoom
from paddock.operator.readings import Readings
from paddock.operator.resource_time import read_held
from paddock.operator.shares import shard_of

COMPONENT = "paddock-operator"
"""The source component of its events."""

MAX_CONCURRENT_RECONCILES = 16

_FLUSH_SECONDS = 2.0
_NOTICE_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Operator:
    """`readings`: what it reads beside `api`. `namespaces`: those to watch, "" for all. `leadership`: jobs are
    reconciled only where it leads. `measures` takes the metrics. `notices` tells others of jobs that end.

    `ready` is set once all caches are synced, in a leader and in a standby.
    """

    def __init__(
        self,
        api: Api,
        settings: Settings,
        *,
        readings: Readings | None = None,
        kinds: Mapping[Resource, JobApi] = KINDS,
        namespaces: Sequence[str] = ("",),
        leadership: Leadership | None = None,
        measures: Measures | None = None,
        notices: Notices | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        readings = readings or Readings()
        self._steady = readings.steady
        self._kinds = kinds
        self._owners = {(resource.group, resource.kind): resource for resource in kinds}
        self._leadership = leadership or WITHOUT_ELECTION
        self._measures = measures or UNMEASURED
        self._leading_since = self._steady()
        self._terms = dict(self._leadership.terms)
        self._followed = dict(self._terms)  # without the shards of which a key was dropped
        self._passes = Passes(self._leadership, lambda: self._terms)
        acting = self._passes.guard(api) if leadership is not None else api
        self._events = EventRecorder(
            acting, readings.clock, COMPONENT, wanted=lambda about: self._passes.may_act(namespace_of(about))
        )
        self._notices = notices
        if notices is not None:
            notices.publish = self._events.publish
        self._queue: WorkQueue[JobRef] = WorkQueue(readings.steady, self._measure_wait)
        self._informers = Informers(
            api,
            kinds,
            settings.pod_groups,
            self._on_event,
            namespaces,
            autoscalers=settings.autoscalers,
            on_served=self._add_all,
        )
        namespaces = self._informers.namespaces if settings.datasets else ()
        self._datasets = WatchedDatasets(api, namespaces, self._on_dataset)
        self._reconciling: set[asyncio.Task[None]] = set()
        self._starting: asyncio.Task[None] | None = None
        self._measures.set_sources(
            self._queue.depth, lambda: len(self._leadership.terms), self._queue_age, self._leadership.shards
        )
        self._measures.set_terms(self._read_term)
        self._room = GangRoom(api, self._queue.add) if settings.quotas else None
        self._controller = Controller(
            acting,
            settings,
            self._informers,
            self._datasets,
            self._events,
            kinds=kinds,
            readings=readings,
            queue=self._queue,
            measures=self._measures,
            term=lambda namespace: self._terms.get(self._shard_of(namespace)),
            on_end=notices.offer if notices is not None else lambda *_: None,
            room=self._room,
        )

    async def run(self) -> None:
        """Run until cancelled; then send the queued events, for two seconds at most."""
        sending = asyncio.create_task(self._events.run())
        telling = asyncio.create_task(self._notices.run()) if self._notices is not None else None
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._informers.follow())
                group.create_task(self._datasets.follow())
                if self._room is not None:
                    group.create_task(self._room.follow())
                await self._informers.synced()
                await self._datasets.settled()
                self.ready.set()
                self._starting = group.create_task(self._start_reconciling(group))
        finally:
            try:
                if telling is not None and self._notices is not None:
                    await self._notices.end(telling, _NOTICE_SECONDS)
                await self._events.flush(_FLUSH_SECONDS)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sending

    def publish(self, about: Mapping[str, Any], reason: str, message: str, type: str = "Normal") -> None:
        """An event of a job, for who looks at jobs beside the reconciles."""
        self._events.publish(about, reason, message, type)

    async def drain(self, seconds: float) -> None:
        """Start no more reconciles and wait for the running ones, at most this long. `run` goes on until cancelled."""
        if self._starting is not None:
            self._starting.cancel()
        if self._reconciling:
            await asyncio.wait(self._reconciling, timeout=seconds)

    def unsynced(self) -> tuple[str, ...]:
        """The plurals of the resources whose caches are not synced; none once `ready`."""
        if self.ready.is_set():
            return ()
        return (*self._informers.unsynced(), *(() if self._datasets.is_settled else (DATASETS.plural,)))

    async def _start_reconciling(self, group: asyncio.TaskGroup) -> None:
        slots = asyncio.Semaphore(MAX_CONCURRENT_RECONCILES)
        if self._leadership.shards > 1:
            group.create_task(self._follow_terms())
        while True:
            await slots.acquire()
            ref = await self._queue.take()
            while not await self._may_start(ref):
                ref = await self._queue.take()
            task = group.create_task(self._process(ref))
            self._reconciling.add(task)
            task.add_done_callback(self._reconciling.discard)
            task.add_done_callback(lambda _: slots.release())

    async def _may_start(self, ref: JobRef) -> bool:
        """Waits for the leadership. With shards, others lead meanwhile: a job of theirs is dropped, and queued again
        when its shard is led here."""
        if self._leadership.shards == 1:
            if not self._leadership.terms:
                await self._leadership.wait()
                self._leading_since = self._steady()
        elif (shard := self._shard_of(ref.key.namespace)) not in self._leadership.terms:
            self._followed.pop(shard, None)
            self._controller.forget(ref)
            self._queue.reset_failures(ref)
            self._queue.done(ref)
            await asyncio.sleep(0)  # at the start there are as many as the fleet has jobs, and Leases are to be renewed
            return False
        self._begin_terms()
        return True

    async def _follow_terms(self) -> None:
        """No key tells that a shard is led again, as its keys were dropped."""
        while True:
            await self._leadership.wait(self._followed)
            self._begin_terms()

    def _begin_terms(self) -> None:
        """Where somebody else may have led, what is known is doubted and every job is queued. A leader that lost its
        connection for a moment, and whose Lease nobody took meanwhile, stays in its term."""
        terms = self._leadership.terms
        begun = {shard for shard, term in terms.items() if shard not in self._terms or self._terms[shard] != term}
        if begun:
            self._terms.update(terms)
            self._controller.begin_term(lambda namespace: self._shard_of(namespace) in begun)
        if begun := begun | (terms.keys() - self._followed.keys()):
            self._followed.update(terms)
            self._add_all(begun)

    def _shard_of(self, namespace: str) -> int:
        return shard_of(namespace, self._leadership.shards)

    def _measure_wait(self, due: float) -> None:
        """Does not count the time as a standby."""
        self._measures.waited(self._steady() - max(due, self._leading_since))

    def _queue_age(self) -> float:
        """How long the job that is due longest has waited, as a leader; 0 in a standby."""
        since_leading = self._steady() - self._leading_since
        return min(self._queue.age(), since_leading) if self._leadership.terms else 0.0

    def _add_all(self, shards: Container[int] | None = None) -> None:
        """Queue every job, or those of some shards: at the start of a term, and when a kind is served that was not."""
        for kind in self._kinds:
            for key in self._informers.keys(kind):
                if shards is None or self._shard_of(key.namespace) in shards:
                    self._queue.add(JobRef(kind, key))

    def _on_event(self, resource: Resource, manifest: Manifest) -> None:
        """An object was added, changed or deleted: queue the jobs that it concerns."""
        key = key_of(manifest)
        self._controller.on_object_event(resource, key)
        if resource in self._kinds:
            job = self._informers.get(resource, key)
            own = job if job is not None and not find_other_manager(job) else None
            self._measures.count_job(resource, key, self._kinds[resource].read_status(own).phase if own else None)
            self._controller.on_job_event(JobRef(resource, key), manifest)
        elif owner := owner_in(manifest, self._owners):
            if resource == PODS:
                self._measure_held(key, owner[0])
            self._queue.add(JobRef(*owner))
        elif resource in self._informers.optional:
            # A PodGroup that the user created may have no owner reference: the job of its name uses it.
            for kind in self._kinds:
                if self._informers.get(kind, key) is not None:
                    self._queue.add(JobRef(kind, key))

    def _measure_held(self, pod: Key, job: Resource) -> None:
        """Also of another manager's job: the job is not read for it, which may be large."""
        found = self._informers.get(PODS, pod)
        self._measures.held(job, pod, None if found is None else read_held(found))

    def _read_term(self, namespace: str) -> tuple[int, object] | None:
        shard, terms = self._shard_of(namespace), self._leadership.terms
        return (shard, terms[shard]) if shard in terms else None

    def _on_dataset(self, key: Key) -> None:
        """Queue the jobs that wait for this Dataset."""
        self._controller.on_object_event(DATASETS, key)

    async def _process(self, ref: JobRef) -> None:
        started = self._steady()
        shard = self._shard_of(ref.key.namespace)
        begin_pass(shard, self._terms.get(shard))
        try:
            result = await self._reconcile(ref)
            self._measures.reconciled(ref.resource, result, self._steady() - started)
        finally:
            self._queue.done(ref)

    async def _reconcile(self, ref: JobRef) -> Result:
        """Reconcile one job and queue it again as needed. Raises nothing: a failing job does not stop the others."""
        try:
            after = await self._controller.reconcile(ref)
        except Exception as error:
            known = isinstance(error, ApiError | ActionsFailed)
            lost = known and not self._passes.may_act(ref.key.namespace)
            return self._leave(ref) if lost else self._explain(ref, error)
        self._queue.reset_failures(ref)
        if after is not None:
            self._queue.add(ref, after)
        return "ok"

    def _leave(self, ref: JobRef) -> Result:
        """The term has ended in this pass. Whoever leads next goes on; if that is this process, in the same term or in
        another, the job is due at once."""
        self._controller.leave(ref)
        self._queue.add(ref)
        return "lost"

    def _explain(self, ref: JobRef, error: Exception) -> Result:
        """Log the error, tell of a bug, and queue the job again."""
        delay = self._queue.fail(ref)
        if isinstance(error, Conflict):  # another client wrote it meanwhile; expected, so not logged
            return "conflict"
        if isinstance(error, ApiError | ActionsFailed):
            _log.warning("%s: %s; again in %.1f s", ref, error, delay)
            return "error"
        _log.exception("%s: a pass failed; this is a bug. Again in %.1f s", ref, delay)
        if job := self._informers.get(*ref):
            message = f"the operator failed on this job, which is a bug of its own: {type(error).__name__}: {error}"
            self._events.publish(job, "OperatorFailed", message, "Warning")
        return "bug"
