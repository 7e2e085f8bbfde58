"""Ctrl-C and SIGTERM as something to wait for: the first is polite, and another one may follow."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def queue_interrupts(queue: asyncio.Queue[None]) -> AsyncIterator[None]:
    """Ctrl-C and SIGTERM go into the queue while the context lasts."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, queue.put_nowait, None)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
