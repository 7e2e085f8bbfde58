"""The requests for Datasets: few at one time, and of each namespace a share of these. I/O.

Anybody may have thousands of Datasets, begin them all at once, and have servers and pods that answer slowly. Their
requests go over the connections by which jobs are reconciled, so they wait for those of their own namespace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from paddock.datasets.job_reading import ReadLog
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.meta import Resource

AT_ONCE, OF_ONE = 16, 4
"""Requests that are on their way at one time, in all and of one namespace."""


class SharedRequests(Api):
    """The same API, each request in its turn. What is followed is no request of a namespace, and has no turn."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._slots, self._shares = asyncio.Semaphore(AT_ONCE), dict[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """Both are given in the order in which they were asked for: a namespace has four at most that wait for the
        slots, so no other waits for more of it."""
        async with self._shares.setdefault(namespace, asyncio.Semaphore(OF_ONE)), self._slots:
            yield

    async def send(self, call: Call[T]) -> T:
        async with self.turn(call.namespace):
            return await self._api.send(call)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, labels=labels, fields=fields)

    def share_logs(self, read_log: ReadLog) -> ReadLog:
        """Reads logs in the same turns: one may take seconds."""

        async def read(namespace: str, pod: str) -> bytes:
            async with self.turn(namespace):
                return await read_log(namespace, pod)

        return read
