"""A thread with an event loop of its own, for what has to go on whatever the process' other loop computes. Thin.

A loop waits while one task computes: nothing else in it is sent, read or answered. Threads take turns every few
milliseconds, so what runs here is late by that. What belongs to a loop (clients, connections, events) is used in one
loop alone: a client that is used here is opened and closed here (`hold`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """`async with LoopThread("lease") as thread: await thread.run(work())`."""

    def __init__(self, name: str) -> None:
        # A daemon: a process whose own loop hangs can still be ended.
        self._thread = threading.Thread(target=self._turn, name=name, daemon=True)
        self._started = threading.Event()

    async def __aenter__(self) -> LoopThread:
        self._thread.start()
        await asyncio.to_thread(self._started.wait)
        return self

    async def __aexit__(self, *_: object) -> None:
        """What still runs there is cancelled."""
        self._loop.call_soon_threadsafe(self._ending.set)
        await asyncio.to_thread(self._thread.join)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which runs in the thread. A caller that is cancelled cancels it, and is not over before
        it."""
        home = asyncio.get_running_loop()
        ended: asyncio.Future[asyncio.Task[T]] = home.create_future()
        begun: list[asyncio.Task[T]] = []

        def begin() -> None:
            task = self._loop.create_task(work)
            begun.append(task)
            task.add_done_callback(lambda task: home.call_soon_threadsafe(_tell, ended, task))

        self._loop.call_soon_threadsafe(begin)
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(lambda: begun[0].cancel())
            await asyncio.wait([ended])
            raise
        return (await ended).result()

    @asynccontextmanager
    async def hold(self, resource: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
        """Entered and left in the thread."""
        held = await self.run(resource.__aenter__())
        try:
            yield held
        finally:
            await self.run(resource.__aexit__(None, None, None))

    def _turn(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        await self._ending.wait()


def _tell(ended: asyncio.Future[T], result: T) -> None:
    with suppress(asyncio.InvalidStateError):  # who asked was cancelled twice
        ended.set_result(result)
