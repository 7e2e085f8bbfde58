"""What nodes and pods show of the room that jobs of a cluster wait for, with the reader's own rights.

One list of each for all that wait, kept for some seconds: a page of a job follows neither all pods nor all nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from paddock.console.feed import Cache, Topic
from paddock.console.page_context import PageContext
from paddock.jobs.model import CauseRecord
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import NODES, PODS, Manifest, Resource, metadata
from paddock.kube.times import Moment
from paddock.submission.admissions import Waiting as Queued
from paddock.submission.admissions import fetch_admissions
from paddock.views.rooms import LIVE_PODS, NO_ROOMS, Rooms, read_rooms, read_waiting, speaks_of_room
from paddock.views.workloads import NO_ADMISSIONS, Admissions, list_queues, waits_for_queue

SECONDS = 10.0
"""Between two looks."""
_NOTE, _ADMISSIONS = "rooms", "admissions"

Waiting = tuple[CauseRecord | None, Resource, Manifest]


async def look_for_room(page: PageContext, topic: Topic, waiting: Sequence[Waiting]) -> Rooms:
    """`topic`: of the jobs, which keeps what was seen. On a laptop the local scheduler's own message has the numbers.
    An API that fails leaves the scheduler's own words."""
    rooms, cache = NO_ROOMS, page.caches.get(topic, Cache())
    if page.backend.local:
        return rooms
    if any(speaks_of_room(cause) for cause, _, _ in waiting):
        known: tuple[Moment, Rooms] = cache.notes.get(_NOTE, (0.0, NO_ROOMS))
        if page.now - known[0] >= SECONDS:
            known = cache.notes[_NOTE] = (page.now, await _fetch(page))
        rooms = known[1].begin()
    queued = [(cause, job) for cause, _, job in waiting if waits_for_queue(cause)]
    return replace(rooms, admissions=await _look_for_admissions(page, cache, queued)) if queued else rooms


async def _look_for_admissions(page: PageContext, cache: Cache, queued: Sequence[Queued]) -> Admissions:
    queues = frozenset(list_queues(queued))
    known: tuple[Moment, frozenset[object], Admissions] = cache.notes.get(
        _ADMISSIONS, (0.0, frozenset(), NO_ADMISSIONS)
    )
    if page.now - known[0] >= SECONDS or not queues <= known[1]:
        known = cache.notes[_ADMISSIONS] = (page.now, queues, await fetch_admissions(page.api, queued))
    return known[2]


def waits_for_room(page: PageContext, cause: CauseRecord | None) -> bool:
    """Whether a page says what nodes, pods or Kueue show, which changes while the job does not."""
    return not page.backend.local and (speaks_of_room(cause) or waits_for_queue(cause))


async def add_room(rooms: Rooms, waiting: Sequence[Waiting]) -> list[CauseRecord | None]:
    """The causes with what is lacking, the oldest job first. In a thread, as a cluster may have thousands of nodes."""
    if rooms.stock is None and rooms.admissions is NO_ADMISSIONS:
        return [cause for cause, _, _ in waiting]
    order = sorted(range(len(waiting)), key=lambda place: str(metadata(waiting[place][2]).get("creationTimestamp")))
    found = await asyncio.to_thread(lambda: {place: rooms.add(*waiting[place]) for place in order})
    return [found[place] for place in range(len(waiting))]


async def _fetch(page: PageContext) -> Rooms:
    try:
        nodes, pods = await asyncio.gather(_list(page, NODES), _list(page, PODS, LIVE_PODS))
    except ApiError:
        return NO_ROOMS
    return await asyncio.to_thread(_read, nodes, pods)


def _read(nodes: list[Manifest] | None, pods: list[Manifest] | None) -> Rooms:
    return read_rooms(nodes, None if pods is None else [read_waiting(PODS, pod) for pod in pods], ())


async def _list(page: PageContext, resource: Resource, fields: str = "") -> list[Manifest] | None:
    """None if it may not be listed."""
    try:
        return (await page.api.list(resource, fields=fields)).items
    except Forbidden:
        return None
