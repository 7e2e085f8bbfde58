"""Whether a request may begin, asked immediately before it is sent. PURE.

A process can stop at any point of its code: a laptop sleeps, a machine or a container is paused, one computation takes
long. What it knew before proves nothing when it goes on. So a `GuardedApi` asks `check` before each call, and a client
that had to wait for a connection, or for its turn, asks once more (`ask_to_begin`) when nothing is left to wait for.
What is on its way by then goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import ApiError
from paddock.kube.meta import Resource

Check = Callable[[Call[Any]], None]
"""Raises `NotBegun` if this call may not begin now."""


class NotBegun(ApiError):
    """This process may not begin the request now: nothing was sent, and no server has refused anything."""

    code, reason = 0, "NotBegun"


_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


def ask_to_begin() -> None:
    """Clients call it immediately before a request is sent. Raises `NotBegun`."""
    check = _CHECK.get()
    if check is not None:
        check()


class GuardedApi(Api):
    """Asks before each call. What is followed is not asked about: a standby keeps its caches."""

    def __init__(self, api: Api, check: Check) -> None:
        self._api = api
        self._check = check

    async def send(self, call: Call[T]) -> T:
        self._check(call)
        outer = _CHECK.set(partial(self._check, call))
        try:
            return await self._api.send(call)
        finally:
            with suppress(ValueError):  # a coroutine that nobody awaits any more is closed in another context
                _CHECK.reset(outer)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, labels=labels, fields=fields)
