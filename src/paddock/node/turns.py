"""Whose turn it is: one task for each key at a time, woken by events and by timers. Knows nothing of pods.

Waking a key that is at work gives it one more turn afterwards, however often it was woken. Work that raises gets
another turn after a back-off; other keys notice nothing of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from paddock.kube.errors import ApiError, NotFound

_FIRST, _LONGEST = 0.5, 60.0  # seconds of back-off

_log = logging.getLogger(__name__)


class Turns:
    """`work(key)` is awaited for each turn. Needs a running event loop."""

    def __init__(self, work: Callable[[str], Awaitable[None]]) -> None:
        self._work = work
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}

    def wake(self, key: str) -> None:
        self._again.add(key)
        if key not in self._tasks:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._turns(key))

    def wake_in(self, key: str, seconds: float) -> None:
        """In place of the time that was set before, if there is one."""
        self._forget_timer(key)
        self._timers[key] = asyncio.get_running_loop().call_later(max(0.0, seconds), self._due, key)

    def back_off(self, key: str, least: float = _FIRST) -> float:
        """Count a failure; seconds until the next try, doubling from `least` to a minute. A turn without one, and
        without an exception, starts the count again."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return min(least * 2.0 ** min(failures - 1, 10), _LONGEST)

    def forget(self, key: str) -> None:
        """Nothing more is to be done for the key."""
        self._forget_timer(key)
        self._again.discard(key)
        self._failures.pop(key, None)

    async def wait_until_idle(self) -> None:
        """Until nobody is at work; timers do not count."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        for key in list(self._timers):
            self._forget_timer(key)

    def _due(self, key: str) -> None:
        self._timers.pop(key, None)
        self.wake(key)

    def _forget_timer(self, key: str) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    async def _turns(self, key: str) -> None:
        try:
            while key in self._again:
                self._again.discard(key)
                await self._turn(key)
        finally:
            del self._tasks[key]

    async def _turn(self, key: str) -> None:
        failures = self._failures.get(key)
        try:
            await self._work(key)
            if self._failures.get(key) == failures:
                self._failures.pop(key, None)
        except NotFound:
            return  # the object went away meanwhile, and its DELETED event is on the way
        except Exception as error:
            delay = self.back_off(key)
            known = isinstance(error, ApiError | OSError)
            _log.warning("%s: %s; trying again in %.1f s", key, error, delay, exc_info=None if known else error)
            self.wake_in(key, delay)


class Gathered:
    """Work that many events ask for and that is done once for all of them, `seconds` after the first."""

    def __init__(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        self._seconds = seconds
        self._work = work
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._due)

    def close(self) -> None:
        for pending in (self._timer, self._task):
            if pending is not None:
                pending.cancel()

    def _due(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._do())

    async def _do(self) -> None:
        try:
            await self._work()
        except (ApiError, OSError) as error:
            _log.warning("%s", error)
