"""An event loop without sockets, threads or waiting: time is a number, and only `advance` moves it.

What asyncio runs on it is the code that runs anywhere; the same calls give the same run, to the last callback.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

_TICK = 1e-6
"""What a callback costs: sums of fractions may fall short of the moment that was waited for, and a clock that stood
still would never reach it."""

_MOST_CALLS = 20_000


class Spinning(AssertionError):
    """Something goes on for ever without time going by."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """As much of a loop as tasks, futures, events, queues and timeouts need."""

    def __init__(self) -> None:
        self.now = 0.0
        self.complaints: list[dict[str, Any]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._serial = count()

    def drain(self) -> None:
        """Everything that can go on without time going by, does."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for _ in range(_MOST_CALLS):
                if not self._ready:
                    return
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
            raise Spinning(f"{_MOST_CALLS} callbacks and no end at {self.now}: {self._ready}")
        finally:
            events._set_running_loop(before)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        self.drain()
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled():
                self.now = max(self.now, when) + _TICK
                self._ready.append(timer)
                self.drain()
        self.now = max(self.now, end)

    def close(self) -> None:
        """Ends every task that was left, so that none is found pending later."""
        for task in asyncio.all_tasks(self):
            task.cancel()
        with contextlib.suppress(Spinning):
            self.advance(60.0)

    # What asyncio asks of a loop.

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._serial), timer))
        return timer

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Any = None
    ) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.complaints.append(context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays in the heap until its time comes."""
