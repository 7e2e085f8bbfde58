"""Paddock's operator: one process that brings every training job to where its manifest wants it. Runs until cancelled.

It mirrors jobs and their children in caches, puts the key of a job into the queue whenever something of it changed or
its time has come, and makes passes (`operator.controller`), some at once but never two over one job. It needs nothing
but an `Api`: the same operator serves a cluster and a laptop, and several of them do no harm to each other, as names
are deterministic and status writes are guarded. So a leader (`operator.election`) saves work and is not what keeps jobs
safe: a pass that is under way when leadership is lost goes on to its end. An idle operator sends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import EventNote, Settings
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Conflict
from paddock.kube.meta import Manifest, Resource, key_of
from paddock.kube.times import Moment
from paddock.operator.controller import ActionsFailed, Controller, JobRef
from paddock.operator.election import ALONE, Leadership
from paddock.operator.events import Events
from paddock.operator.metrics import UNMEASURED, Measures, Result
from paddock.operator.observe import owner_in
from paddock.operator.queue import Queue
from paddock.operator.views import Views

PASSES_AT_ONCE = 16

_FLUSH = 2.0

_log = logging.getLogger(__name__)


class Operator:
    """`clock` in seconds since the epoch; `taken_ports`: what this machine listens on, asked where pods share it;
    `namespaces`: watch these alone, "" for all; passes begin only while `leadership` leads; `measures`: where counts
    go; `monotonic`: the clock of its waits, in seconds, which must be the event loop's.

    `ready` is set once all that exists is known: a leader begins then, and a standby could.
    """

    def __init__(
        self,
        api: Api,
        settings: Settings,
        *,
        clock: Callable[[], Moment] = time.time,
        taken_ports: Callable[[], frozenset[int]] = frozenset,
        kinds: Mapping[Resource, JobApi] = KINDS,
        namespaces: Sequence[str] = ("",),
        leadership: Leadership | None = None,
        measures: Measures | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ready = asyncio.Event()
        self._monotonic = monotonic
        self._kinds = kinds
        self._owners = {(resource.group, resource.kind): resource for resource in kinds}
        self._leadership = leadership or ALONE
        self._measures = measures or UNMEASURED
        self._began = self._monotonic()  # leading, or waiting to lead
        self._term = self._leadership.term
        self._events = Events(api, clock)
        self._queue: Queue[JobRef] = Queue(monotonic, self._note_wait)
        self._views = Views(api, kinds, settings.pod_groups, self._hear, namespaces)
        self._passes: set[asyncio.Task[None]] = set()
        self._beginning: asyncio.Task[None] | None = None
        self._measures.look_at(self._queue.depth, lambda: self._leadership.leads)
        self._controller = Controller(
            api,
            settings,
            self._views,
            self._events,
            kinds=kinds,
            clock=clock,
            taken_ports=taken_ports,
            wake=self._queue.add,
        )

    async def run(self) -> None:
        """Until cancelled; then what events there are is sent, for two seconds at most."""
        sending = asyncio.create_task(self._events.run())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._views.follow())
                await self._views.synced()
                self.ready.set()
                self._beginning = group.create_task(self._begin_passes(group))
        finally:
            try:
                await self._events.flush(_FLUSH)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sending

    async def drain(self, seconds: float) -> None:
        """Begin no more passes, and give those that are under way so long to end. `run` goes on until cancelled."""
        if self._beginning is not None:
            self._beginning.cancel()
        if self._passes:
            await asyncio.wait(self._passes, timeout=seconds)

    def unsynced(self) -> tuple[str, ...]:
        """The plurals of what is not known yet; none once `ready`."""
        return () if self.ready.is_set() else self._views.unsynced()

    async def _begin_passes(self, group: asyncio.TaskGroup) -> None:
        slots = asyncio.Semaphore(PASSES_AT_ONCE)
        while True:
            await slots.acquire()
            ref = await self._queue.take()
            if not self._leadership.leads:
                await self._leadership.wait()
                self._began = self._monotonic()
            if self._leadership.term != self._term:
                self._term = self._leadership.term
                self._look_at_all()
            task = group.create_task(self._work(ref))
            self._passes.add(task)
            task.add_done_callback(self._passes.discard)
            task.add_done_callback(lambda _: slots.release())

    def _note_wait(self, due: float) -> None:
        """The time as a standby is nobody's wait."""
        self._measures.waited(self._monotonic() - max(due, self._began))

    def _look_at_all(self) -> None:
        """A new leader takes nothing of the last one for granted: every job gets a pass. One that was cut off for a
        moment, and whose Lease nobody has had meanwhile, goes on with what it knows."""
        for kind in self._kinds:
            for key in self._views.keys(kind):
                self._queue.add(JobRef(kind, key))

    def _hear(self, resource: Resource, manifest: Manifest) -> None:
        """Something came, changed or went: whose pass does that call for?"""
        key = key_of(manifest)
        self._controller.hear_name(resource, key)
        if resource in self._kinds:
            there = self._views.get(resource, key)
            self._measures.count_job(resource, key, self._kinds[resource].read_status(there).phase if there else None)
            self._controller.hear_job(JobRef(resource, key), manifest)
        elif owner := owner_in(manifest, self._owners):
            self._queue.add(JobRef(*owner))
        elif resource in self._views.optional:  # a PodGroup that the user made counts for the job of its name
            for kind in self._kinds:
                if self._views.get(kind, key) is not None:
                    self._queue.add(JobRef(kind, key))

    async def _work(self, ref: JobRef) -> None:
        begun = self._monotonic()
        try:
            result = await self._make_pass(ref)
            self._measures.passed(ref.resource, result, self._monotonic() - begun)
        finally:
            self._queue.done(ref)

    async def _make_pass(self, ref: JobRef) -> Result:
        """One pass, whatever comes of it: a job that cannot be served holds up no other."""
        try:
            after = await self._controller.run_pass(ref)
        except Conflict:  # somebody wrote it meanwhile: look again
            self._queue.fail(ref)
            return "conflict"
        except (ApiError, ActionsFailed) as error:
            _log.warning("%s: %s; again in %.1f s", ref, error, self._queue.fail(ref))
            return "error"
        except Exception as error:
            delay = self._queue.fail(ref)
            _log.exception("%s: a pass failed; this is a bug. Again in %.1f s", ref, delay)
            if job := self._views.get(*ref):
                message = f"the operator failed on this job, which is a bug of its own: {type(error).__name__}: {error}"
                self._events.publish(job, EventNote("OperatorFailed", message, "Warning"))
            return "bug"
        self._queue.forgive(ref)
        if after is not None:
            self._queue.add(ref, after)
        return "ok"
