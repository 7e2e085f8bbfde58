"""The nodes of pods that should be gone, or that do not start, as they were read: I/O.

Nodes are not watched: those of a fleet change all the time. A node that is lost concerns all jobs that had a pod there,
and each of their passes. So what was read is remembered for as long as a plan may be decided on it, for all jobs, and
nodes are read side by side: those of a lost zone one after another would hold a pass for seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from paddock.jobs.model import NodeCondition, NodeState
from paddock.jobs.objects.observation import read_node
from paddock.jobs.policies.lost import READ_NODE_AGAIN
from paddock.kube.api import Api
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import NODES
from paddock.kube.times import Moment

MOST_AT_ONCE = 20

FRESH_SECONDS = 2.0
"""As long as a request that was decided on it may be under way before anybody notices."""


class _Reading(NamedTuple):
    """A condition of a node that was asked for."""

    asked: Moment
    """When the API was asked; the answer is at least as new."""
    task: asyncio.Task[NodeCondition]


class Nodes:
    """`clock` as in `Controller`."""

    def __init__(self, api: Api, clock: Callable[[], Moment]) -> None:
        self._api = api
        self._clock = clock
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._readings: dict[str, _Reading] = {}

    async def fetch(self, names: Iterable[str], fresh: Collection[str] = ()) -> dict[str, NodeCondition]:
        """What was read less than `READ_NODE_AGAIN` ago, or is read now; of `fresh` less than `FRESH_SECONDS` ago: a
        node that is back must not lose its pods. Raises the `ApiError` of a node that cannot be read, which is read
        anew the next time."""
        self._forget_old(fresh)
        tasks = {name: self._read(name) for name in sorted(names)}
        # Other jobs may wait for the same reading: who is cancelled leaves it to them.
        found = await asyncio.gather(*map(asyncio.shield, tasks.values()))
        return dict(zip(tasks, found, strict=True))

    def _forget_old(self, fresh: Collection[str]) -> None:
        now = self._clock()
        for name, (asked, task) in list(self._readings.items()):
            failed = task.done() and (task.cancelled() or task.exception() is not None)
            # A clock that was set back tells nothing about the age.
            if failed or not 0.0 <= now - asked < (FRESH_SECONDS if name in fresh else READ_NODE_AGAIN):
                del self._readings[name]

    def _read(self, name: str) -> asyncio.Task[NodeCondition]:
        if name not in self._readings:
            self._readings[name] = _Reading(self._clock(), asyncio.create_task(self._fetch(name)))
        return self._readings[name].task

    async def _fetch(self, name: str) -> NodeCondition:
        async with self._slots:
            try:
                return read_node(await self._api.get(NODES, "", name))
            except NotFound:
                return NodeCondition(NodeState.GONE)
            except Forbidden:
                return NodeCondition(NodeState.UNKNOWN)
