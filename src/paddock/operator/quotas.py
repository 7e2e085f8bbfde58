"""A gang whose pods have no room in a quota of its namespace is not begun, and is tried again once there is more room.

Without this the API server would create the first pods of a gang and refuse the others: these would use the quota and
wait, and two jobs could keep each other out for ever. So the quotas are read before the first pod of an attempt is
created, and the pods of one namespace that has quotas are created one gang after the other. It is for a laptop, whose
quotas are exact at each moment and cost nothing to read (`Settings.quotas`). On a cluster the API server alone decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from fractions import Fraction

from paddock.jobs.actions import Create
from paddock.jobs.model import Job, Refusal
from paddock.jobs.objects.pods import RankPod
from paddock.kube.api import Api
from paddock.kube.errors import ApiError
from paddock.kube.meta import LIMIT_RANGES, PODS, RESOURCE_QUOTAS, Manifest, key_of, namespace_of
from paddock.kube.quotas import Quota, explain_gang, read_quota
from paddock.operator.job_state import JobRef

_OF_QUOTAS = ("exceeded quota: ", "failed quota: ")
_OF_LIMITS = (" usage per ", " limit to request ratio per ")
"""What a LimitRange refuses (`kube.limit_ranges`)."""
_MOST_WOKEN = 8
"""Jobs that one change of a quota or a LimitRange queues, those that have waited longest first. The others try again by
themselves."""


class GangRoom:
    """`wake` queues a job."""

    def __init__(self, api: Api, wake: Callable[[JobRef], None]) -> None:
        self._api = api
        self._wake = wake
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, dict[JobRef, None]] = {}
        """By namespace, in the order in which they were refused first."""
        self._known: dict[tuple[str, str], Quota] = {}

    @asynccontextmanager
    async def hold(self, job: Job, creates: Sequence[Create]) -> AsyncIterator[str]:
        """Why these pods, which are all that the job lacks, have no room; empty if they have, and nobody else's are
        created meanwhile. Of an elastic job, and of a gang that is there in part, the API server decides."""
        namespace = job.key.namespace
        if job.elasticity is not None or len(creates) < job.size or not await self._list(namespace):
            yield ""
            return
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            yield await self._explain(_group(creates), await self._list(namespace))

    async def _explain(self, pods: Sequence[tuple[Manifest, int]], quotas: Sequence[Quota]) -> str:
        """A LimitRange gives pods requests that the job does not write, and a quota counts these: so the pods are
        looked at as the API would store them, where they have room as they are written."""
        if said := explain_gang(pods, quotas):
            return said
        try:
            stored = [(await self._api.create(PODS, pod, dry_run=True), times) for pod, times in pods]
        except ApiError as error:
            # Of all else that is refused the API says so itself, when the pods are created.
            return error.message if any(each in error.message for each in _OF_QUOTAS) else ""
        return explain_gang(stored, quotas) or ""

    async def _list(self, namespace: str) -> list[Quota]:
        return [read_quota(each) for each in (await self._api.list(RESOURCE_QUOTAS, namespace)).items]

    def note(self, ref: JobRef, refused: Refusal | None) -> None:
        """What came of the last try of a job."""
        waiting = self._waiting.setdefault(ref.key.namespace, {})
        if refused is not None and any(each in refused.message for each in _OF_QUOTAS + _OF_LIMITS):
            waiting.setdefault(ref)
        else:
            waiting.pop(ref, None)
        if not waiting:
            del self._waiting[ref.key.namespace]

    async def follow(self) -> None:
        """Queues jobs that wait for room when there is more of it, and when a LimitRange gives pods other amounts or
        allows them others, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_quotas())
            group.create_task(self._follow_limits())

    async def _follow_quotas(self) -> None:
        async for event in self._api.follow(RESOURCE_QUOTAS):
            if event.type in ("ADDED", "MODIFIED", "DELETED"):
                self._see(event.object, gone=event.type == "DELETED")

    async def _follow_limits(self) -> None:
        async for event in self._api.follow(LIMIT_RANGES):
            if event.type in ("ADDED", "MODIFIED", "DELETED"):
                self._wake_waiting(namespace_of(event.object))

    def _see(self, manifest: Manifest, *, gone: bool) -> None:
        key = key_of(manifest)
        before = self._known.pop(key, None)
        now = None if gone else read_quota(manifest)
        if now is not None:
            self._known[key] = now
        if now is None or (before is not None and has_more_room(before, now)):
            self._wake_waiting(key.namespace)

    def _wake_waiting(self, namespace: str) -> None:
        for ref in list(self._waiting.get(namespace, ()))[:_MOST_WOKEN]:
            self._wake(ref)


def has_more_room(before: Quota, now: Quota) -> bool:
    """Whether a quota that was changed has more room for anything."""

    def left(quota: Quota, name: str) -> Fraction:
        used = quota.used.get(name)
        return quota.hard[name].amount - (used.amount if used else 0)

    return any(name not in now.hard or left(now, name) > left(before, name) for name in before.hard)


def _group(creates: Sequence[Create]) -> list[tuple[Manifest, int]]:
    """One pod of each role, and how many there are: those of a role ask for the same."""
    roles: dict[str, list[Create]] = {}
    for create in creates:
        if isinstance(create.recipe, RankPod):
            roles.setdefault(create.recipe.rank.role, []).append(create)
    return [(alike[0].manifest, len(alike)) for alike in roles.values()]
