"""Ctrl-C and SIGTERM as items of a queue, so that the first and the second can have different effects."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

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
