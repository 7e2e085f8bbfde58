"""Ctrl-C and SIGTERM as items of a queue, so that the first and the second can have different effects; and SIGTERM as
the end of a work that gives back what it holds."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Listen: TypeAlias = Callable[[asyncio.Queue[None]], AbstractAsyncContextManager[None]]
"""Puts an item into the queue for each interrupt while its context is open."""


@contextlib.asynccontextmanager
async def queue_interrupts(queue: asyncio.Queue[None]) -> AsyncIterator[None]:
    """Puts an item into the queue for each signal while the context is open."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, queue.put_nowait, None)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


class Signalled(Exception):
    """A signal has ended the work. `code`: the exit code that a shell would tell."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


async def until_signalled(work: Coroutine[Any, Any, T]) -> T:
    """SIGTERM, or a terminal that is closed, cancels the work, so that it gives back what it holds, and `Signalled` is
    raised. What this process ignores, as under nohup, it goes on ignoring. Of several signals the first counts: a shell
    and a kernel both tell of a terminal that is closed, and the work has then begun to give back."""
    loop, task, caught = asyncio.get_running_loop(), asyncio.ensure_future(work), list[int]()

    def end(number: int) -> None:
        caught.append(number)
        if len(caught) == 1:
            task.cancel()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    numbers = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not caught:
            raise
        raise Signalled(caught[0]) from None
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
