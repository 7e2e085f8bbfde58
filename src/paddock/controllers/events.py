"""Kubernetes Events of objects, as `kubectl describe` shows them. Best effort: nothing waits for an event.

`build_event` derives the name from the content, so the same reason and message of an object is one Event, also after a
restart. `EventSink` writes events; `EventRecorder` queues them and limits their rate, as client-go's does.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, NotFound
from paddock.kube.guard import NotBegun
from paddock.kube.meta import EVENTS, Manifest, name_of, namespace_of, uid_of, version_of
from paddock.kube.times import Moment, format_time

_BURST = 25
_SECONDS_PER_EVENT = 20.0
_MAX_REMEMBERED = 10_000
_MAX_QUEUED = 2_000
_MAX_CONCURRENT_WRITES = 20
_MAX_MESSAGE = 1024  # characters in a core/v1 Event (validation of Kubernetes)

_log = logging.getLogger(__name__)


def build_event(
    about: Mapping[str, Any], reason: str, message: str, now: Moment, *, component: str, type: str = "Normal"
) -> Manifest:
    """A core/v1 Event. `about`: the object as read from the API. `type`: Normal or Warning."""
    content = "\0".join((uid_of(about), type, reason, message))
    suffix = hashlib.blake2s(content.encode(), digest_size=8).hexdigest()
    namespace, time = namespace_of(about) or "default", format_time(now)
    involved = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "namespace": namespace_of(about),
        "name": name_of(about),
        "uid": uid_of(about),
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name_of(about)[:200].rstrip('-.')}.{suffix}", "namespace": namespace},
        "involvedObject": involved | ({"resourceVersion": version} if (version := version_of(about)) else {}),
        "type": type,
        "reason": reason,
        "message": message[:_MAX_MESSAGE],
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


class Allowance(NamedTuple):
    """A token bucket for the events of one object. client-go's spam filter is stricter: one event in five minutes."""

    left: float = _BURST  # tokens
    since: Moment = 0.0  # when so many were left

    def spend(self, now: Moment) -> Allowance | None:
        """The bucket after one more event; None if it is empty."""
        left = min(_BURST, self.left + max(0.0, now - self.since) / _SECONDS_PER_EVENT)
        return Allowance(left - 1, now) if left >= 1 else None


class EventSink:
    """Writes events. `counts`: increments the count of an event that exists already; otherwise leaves it unchanged.

    A node does not count: at its start the kubelet writes all events of a pod again, from the pod's status, though they
    have not happened again.
    """

    def __init__(self, api: Api, *, counts: bool) -> None:
        self._api = api
        self._counts = counts
        self._known: OrderedDict[str, int] = OrderedDict()

    async def write(self, event: Manifest) -> None:
        """Raises nothing: an event that cannot be written is logged."""
        try:
            await self._write(event)
        except NotBegun:
            pass  # it is for another process to tell
        except ApiError as error:
            _log.info("event %s of %s is lost: %s", event["reason"], event["involvedObject"]["name"], error)

    async def write_all(self, events: Sequence[Manifest]) -> None:
        """A few at a time, so more important writes need not wait for all of them."""
        for start in range(0, len(events), _MAX_CONCURRENT_WRITES):
            await asyncio.gather(*map(self.write, events[start : start + _MAX_CONCURRENT_WRITES]))

    async def _write(self, event: Manifest) -> None:
        name = name_of(event)
        if name not in self._known:
            try:
                await self._api.create(EVENTS, event)
                self._remember(name, 1)
                return
            except AlreadyExists:
                if not self._counts:
                    return
                existing = await self._api.get(EVENTS, namespace_of(event), name)
                self._remember(name, int(existing.get("count") or 1))
        await self._repeat(event)

    async def _repeat(self, event: Manifest) -> None:
        name = name_of(event)
        count = self._known[name] + 1
        patch = {"count": count, "lastTimestamp": event["lastTimestamp"]}
        try:
            await self._api.patch(EVENTS, namespace_of(event), name, patch)
        except NotFound:  # expired: an API server keeps events for an hour
            count = 1
            await self._api.create(EVENTS, event)
        self._remember(name, count)

    def _remember(self, name: str, count: int) -> None:
        if self._counts:
            _remember(self._known, name, count)


class EventRecorder:
    """client-go's EventRecorder with its spam filter. `publish` returns at once; `run` writes until cancelled.

    One object may have 25 events at once and then one in 20 seconds. Further events are dropped, all events while the
    queue is full, and those about what is not `wanted` when they are published.
    """

    def __init__(
        self,
        api: Api,
        clock: Callable[[], Moment],
        component: str,
        wanted: Callable[[Mapping[str, Any]], bool] = lambda about: True,
    ) -> None:
        self._wanted = wanted
        self._sink = EventSink(api, counts=True)
        self._clock = clock
        self._component = component
        self._waiting: asyncio.Queue[Manifest] = asyncio.Queue(_MAX_QUEUED)
        self._allowances: OrderedDict[str, Allowance] = OrderedDict()

    def publish(self, about: Mapping[str, Any], reason: str, message: str, type: str = "Normal") -> None:
        if not self._wanted(about):
            return
        now, uid = self._clock(), uid_of(about)
        allowance = self._allowances.get(uid, Allowance(since=now)).spend(now)
        if allowance is None or self._waiting.full():
            return
        _remember(self._allowances, uid, allowance)
        self._waiting.put_nowait(build_event(about, reason, message, now, component=self._component, type=type))

    async def run(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._sink.write(event)
            finally:
                self._waiting.task_done()

    async def flush(self, seconds: float) -> None:
        """Wait until all queued events are written, at most this long. `run` must still run."""
        try:
            async with asyncio.timeout(seconds):
                await self._waiting.join()
        except TimeoutError:
            _log.info("%d events were not sent in time", self._waiting.qsize())


def _remember(memory: OrderedDict[str, Any], key: str, value: Any) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _MAX_REMEMBERED:
        memory.popitem(last=False)
