"""What nodes and pods show of the room that jobs wait for, with the reader's own rights: at most one list of each for a
command, and none where no job waits for room or the local scheduler has said it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import NODES, PODS, Manifest, Resource

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.kube.api import Api
    from paddock.submission.admissions import Waiting
    from paddock.views.rooms import Rooms
    from paddock.views.workloads import Admissions


async def fetch_rooms(
    api: Api,
    place: ClusterChoice,
    waiting: Iterable[Waiting],
    namespace: str = "",
    pods: Iterable[Manifest] = (),
) -> Rooms | None:
    """None where none of these causes of jobs, and no message about one of these pods, needs it. `namespace`: whose
    pods are read where those of all may not be. An API that fails leaves the scheduler's own words: a command never
    fails for it."""
    if place.kept is not None:  # a laptop, or its bundle
        return None
    from paddock.views.pods import find_unplaced
    from paddock.views.rooms import NO_ROOMS, speaks_of_room  # late: most commands need none of it
    from paddock.views.workloads import waits_for_queue
    from paddock.words.room import find_named

    waiting = list(waiting)
    queued = [each for each in waiting if waits_for_queue(each[0])]
    if (told := place.find_room()) is not None:
        return replace(told, admissions=await _fetch_admissions(api, queued)) if queued else told
    if not any(speaks_of_room(cause) for cause, _ in waiting) and not any(
        find_named(said) for each in pods if (said := find_unplaced(each))
    ):
        return replace(NO_ROOMS, admissions=await _fetch_admissions(api, queued)) if queued else None
    try:
        rooms = await _fetch(api, namespace)
    except ApiError:
        rooms = NO_ROOMS
    return replace(rooms, admissions=await _fetch_admissions(api, queued)) if queued else rooms


async def _fetch_admissions(api: Api, queued: Sequence[Waiting]) -> Admissions:
    from paddock.submission.admissions import fetch_admissions

    return await fetch_admissions(api, queued)


async def _fetch(api: Api, namespace: str) -> Rooms:
    from paddock.node.scheduler.pod_request import read_request
    from paddock.views.rooms import read_rooms

    nodes, pods = await asyncio.gather(_list(api, NODES), _list_pods(api))
    requests = None if pods is None else map(read_request, pods)
    own = () if pods is not None or nodes is None or not namespace else await _list_pods(api, namespace) or ()
    return read_rooms(nodes, requests, map(read_request, own))


async def _list_pods(api: Api, namespace: str = "") -> list[Manifest] | None:
    from paddock.views.rooms import LIVE_PODS

    return await _list(api, PODS, namespace, LIVE_PODS)


async def _list(api: Api, resource: Resource, namespace: str = "", fields: str = "") -> list[Manifest] | None:
    """None if it may not be listed."""
    try:
        return (await api.list(resource, namespace, fields=fields)).items
    except Forbidden:
        return None
