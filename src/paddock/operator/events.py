"""Kubernetes Events about jobs: what `kubectl describe` shows at its end. Best effort, in the background.

The same reason and sentence again raises a count instead of making another object, across restarts too, as an event's
name comes from what it says. One job may say 25 things at once and then one in 20 seconds (client-go's correlator is
stricter: one in five minutes); what exceeds that, or finds the API away, is dropped, as no job may wait for its events.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from paddock.jobs.model import EventNote
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, NotFound
from paddock.kube.meta import EVENTS, Manifest, name_of, namespace_of, uid_of, version_of
from paddock.kube.times import Moment, format_time

SOURCE = "paddock-operator"

_BURST = 25
_SECONDS_PER_EVENT = 20.0
_REMEMBERED = 10_000
_QUEUED = 2_000
_LONGEST_MESSAGE = 1024

_log = logging.getLogger(__name__)


def build_event(about: Mapping[str, Any], note: EventNote, now: Moment) -> Manifest:
    """A core/v1 Event; `about` is the object as the API served it. Its name depends on what is said alone."""
    said = "\0".join((uid_of(about), note.type, note.reason, note.message))
    suffix = hashlib.blake2s(said.encode(), digest_size=8).hexdigest()
    namespace, time = namespace_of(about) or "default", format_time(now)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name_of(about)[:200].rstrip('-.')}.{suffix}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "namespace": namespace_of(about),
            "name": name_of(about),
            "uid": uid_of(about),
            "resourceVersion": version_of(about),
        },
        "type": note.type,
        "reason": note.reason,
        "message": note.message[:_LONGEST_MESSAGE],
        "source": {"component": SOURCE},
        "reportingComponent": SOURCE,
        "reportingInstance": SOURCE,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


class Allowance(NamedTuple):
    """How many events a job may still have: `left` at `since`, and more as time goes by."""

    left: float = _BURST
    since: Moment = 0.0

    def spend(self, now: Moment) -> Allowance | None:
        """What is left after one more; None where none is."""
        left = min(_BURST, self.left + max(0.0, now - self.since) / _SECONDS_PER_EVENT)
        return Allowance(left - 1, now) if left >= 1 else None


class Events:
    """`publish` returns at once; `run` sends until cancelled; `flush` waits until all is sent, at most so long."""

    def __init__(self, api: Api, clock: Callable[[], Moment]) -> None:
        self._api = api
        self._clock = clock
        self._waiting: asyncio.Queue[Manifest] = asyncio.Queue(_QUEUED)
        self._allowances: OrderedDict[str, Allowance] = OrderedDict()
        self._counts: OrderedDict[str, int] = OrderedDict()

    def publish(self, about: Mapping[str, Any], note: EventNote) -> None:
        now, uid = self._clock(), uid_of(about)
        allowance = self._allowances.get(uid, Allowance(since=now)).spend(now)
        if allowance is None or self._waiting.full():
            return
        _remember(self._allowances, uid, allowance)
        self._waiting.put_nowait(build_event(about, note, now))

    async def run(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._send(event)
            except ApiError as error:
                _log.info("event %s of %s is lost: %s", event["reason"], event["involvedObject"]["name"], error)
            finally:
                self._waiting.task_done()

    async def flush(self, seconds: float) -> None:
        """For the end, while `run` still runs."""
        try:
            async with asyncio.timeout(seconds):
                await self._waiting.join()
        except TimeoutError:
            _log.info("%d events were not sent in time", self._waiting.qsize())

    async def _send(self, event: Manifest) -> None:
        name = name_of(event)
        if name not in self._counts:
            try:
                await self._api.create(EVENTS, event)
                _remember(self._counts, name, 1)
                return
            except AlreadyExists:
                there = await self._api.get(EVENTS, namespace_of(event), name)
                _remember(self._counts, name, int(there.get("count") or 1))
        await self._repeat(event)

    async def _repeat(self, event: Manifest) -> None:
        name = name_of(event)
        count = self._counts[name] + 1
        again = {"count": count, "lastTimestamp": event["lastTimestamp"]}
        try:
            await self._api.patch(EVENTS, namespace_of(event), name, again)
        except NotFound:  # events live for an hour on a cluster
            count = 1
            await self._api.create(EVENTS, event)
        _remember(self._counts, name, count)


def _remember(memory: OrderedDict[str, Any], key: str, value: Any) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
