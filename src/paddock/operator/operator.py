"""Paddock's operator: one process that brings every training job to where its manifest wants it. Runs until cancelled.

It mirrors jobs and their children in caches, puts the key of a job into the queue whenever something of it changed or
its time has come, and makes passes (`operator.controller`), some at once but never two over one job. It needs nothing
but an `Api`: the same operator serves a cluster and a laptop, and several of them do no harm to each other, as names
are deterministic and status writes are guarded. An idle operator sends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping

from paddock.client.cache import Cache
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import EventNote, Settings
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Conflict, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import Manifest, Resource, key_of
from paddock.kube.times import Moment
from paddock.operator.controller import ActionsFailed, Controller, JobRef
from paddock.operator.events import Events
from paddock.operator.observe import owner_in
from paddock.operator.queue import Queue
from paddock.operator.views import Views

PASSES_AT_ONCE = 16

_FLUSH = 2.0
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0

_log = logging.getLogger(__name__)


class Operator:
    """`clock` in seconds since the epoch; `taken_ports`: what this machine listens on, asked where pods share it.

    `ready` is set once all that exists is known and passes begin.
    """

    def __init__(
        self,
        api: Api,
        settings: Settings,
        *,
        clock: Callable[[], Moment] = time.time,
        taken_ports: Callable[[], frozenset[int]] = frozenset,
        kinds: Mapping[Resource, JobApi] = KINDS,
    ) -> None:
        self.ready = asyncio.Event()
        self._kinds = kinds
        self._owners = {(resource.group, resource.kind): resource for resource in kinds}
        self._events = Events(api, clock)
        self._queue: Queue[JobRef] = Queue(time.monotonic)
        self._views = Views(api, kinds, settings.pod_groups, self._hear)
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
                for resource, cache in self._views.caches.items():
                    group.create_task(self._mirror(cache, optional=resource in self._views.optional))
                for cache in self._views.caches.values():
                    await cache.synced.wait()
                self.ready.set()
                slots = asyncio.Semaphore(PASSES_AT_ONCE)
                while True:
                    await slots.acquire()
                    ref = await self._queue.take()
                    group.create_task(self._work(ref)).add_done_callback(lambda _: slots.release())
        finally:
            try:
                await self._events.flush(_FLUSH)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sending

    async def _mirror(self, cache: Cache, *, optional: bool) -> None:
        """What is not served, or not allowed, may be later. An optional kind that is not served has no objects."""
        wait, said = _FIRST_WAIT, False
        while True:
            try:
                await cache.run()
            except (NotFound, Forbidden, Unauthorized) as error:
                if not said:
                    _log.warning("cannot watch %s, trying again: %s", cache.resource.plural, error)
                said = True
            if optional:
                cache.synced.set()
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _hear(self, resource: Resource, manifest: Manifest) -> None:
        """Something came, changed or went: whose pass does that call for?"""
        key = key_of(manifest)
        self._controller.hear_name(resource, key)
        if resource in self._kinds:
            self._controller.hear_job(JobRef(resource, key), manifest)
        elif owner := owner_in(manifest, self._owners):
            self._queue.add(JobRef(*owner))
        elif resource in self._views.optional:  # a PodGroup that the user made counts for the job of its name
            for kind in self._kinds:
                if self._views.get(kind, key) is not None:
                    self._queue.add(JobRef(kind, key))

    async def _work(self, ref: JobRef) -> None:
        """One pass, whatever comes of it: a job that cannot be served holds up no other."""
        try:
            after = await self._controller.run_pass(ref)
        except Conflict:  # somebody wrote it meanwhile: look again
            self._queue.fail(ref)
        except (ApiError, ActionsFailed) as error:
            _log.warning("%s: %s; again in %.1f s", ref, error, self._queue.fail(ref))
        except Exception as error:
            delay = self._queue.fail(ref)
            _log.exception("%s: a pass failed; this is a bug. Again in %.1f s", ref, delay)
            if job := self._views.get(*ref):
                message = f"the operator failed on this job, which is a bug of its own: {type(error).__name__}: {error}"
                self._events.publish(job, EventNote("OperatorFailed", message, "Warning"))
        else:
            self._queue.forgive(ref)
            if after is not None:
                self._queue.add(ref, after)
        finally:
            self._queue.done(ref)
