"""A keyed work queue that runs its own tasks: at most one for each key, started by events and timers.

A key that is woken during its work runs once more afterwards, however often it was woken. Work that raises is repeated
after a back-off, without effect on other keys. `controllers.schedule` decides when a key is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from paddock.controllers.schedule import Schedule
from paddock.kube.errors import ApiError, NotFound

FIRST_DELAY = 0.5
LONGEST_DELAY = 60.0
"""Seconds of back-off."""

_IMMEDIATELY = 0.0
"""A time before every time of the loop's clock."""

_log = logging.getLogger(__name__)


class KeyedTasks:
    """Awaits `work(key)` for each key that is due; the work sets the next time itself. Needs a running event loop."""

    def __init__(self, work: Callable[[str], Awaitable[None]]) -> None:
        self._work = work
        self._schedule: Schedule[str] = Schedule(first_delay=FIRST_DELAY, longest_delay=LONGEST_DELAY)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: float | None = None
        self._closed = False

    def wake(self, key: str) -> None:
        self._schedule.add(key, _IMMEDIATELY)
        self._start_due(_IMMEDIATELY)

    def wake_in(self, key: str, seconds: float) -> None:
        """Replaces the time that was set before. An event that wakes the key earlier uses the time up: the work sets
        the next one itself. Work that raises `NotFound` sets none, as the object's DELETED event wakes the key."""
        if self._closed:
            return
        now = asyncio.get_running_loop().time()
        self._schedule.move(key, now + max(0.0, seconds), now)
        self._set_timer()

    def back_off(self, key: str, first_delay: float = FIRST_DELAY) -> float:
        """Count a failure; seconds until the next try, doubling from `first_delay` to a minute. Work that neither calls
        this nor raises resets the count."""
        return self._schedule.back_off(key, first_delay)

    def forget(self, key: str) -> None:
        """Remove the key: no work is due for it any more."""
        self._schedule.forget(key)

    async def wait_until_idle(self) -> None:
        """Wait until no key is in work; timers do not count."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    def close(self) -> None:
        """Cancel all work. No work starts afterwards, whoever wakes a key."""
        self._closed = True
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()  # a task that is cancelled before its first step never removes itself
        if self._timer is not None:
            self._timer.cancel()

    def _start_due(self, now: float) -> None:
        if self._closed:
            return
        while (key := self._schedule.take(now)) is not None:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._run(key))
        self._set_timer()

    def _set_timer(self) -> None:
        at = self._schedule.next_at()
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if at is None else asyncio.get_running_loop().call_at(at, self._on_timer, at)
        self._timer_at = at

    def _on_timer(self, at: float) -> None:
        self._timer = self._timer_at = None
        self._start_due(max(at, asyncio.get_running_loop().time()))  # a loop may fire a timer a little early

    async def _run(self, key: str) -> None:
        try:
            self._schedule.begin(key, _IMMEDIATELY)  # events since the creation of this task are covered by this work
            await self._work_or_back_off(key)
        finally:
            self._tasks.pop(key, None)
            self._schedule.done(key)
        # Only woken keys. A time that passed during long work is left to the timer, so that other callbacks of the loop
        # for this key, such as the end of its process, run first.
        self._start_due(_IMMEDIATELY)

    async def _work_or_back_off(self, key: str) -> None:
        failures = self._schedule.failures(key)
        try:
            await self._work(key)
            if self._schedule.failures(key) == failures:
                self._schedule.reset_failures(key)
        except NotFound:
            return  # the object was deleted meanwhile; its DELETED event follows
        except Exception as error:
            delay = self.back_off(key)
            known = isinstance(error, ApiError | OSError)
            _log.warning("%s: %s; trying again in %.1f s", key, error, delay, exc_info=None if known else error)
            self.wake_in(key, delay)


class CoalescedTask:
    """Runs `work` once for all requests that come within `seconds` of the first."""

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
