"""One form of a reader at a time: to check a large text takes seconds of the processor that all readers share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Turns:
    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, reader: str) -> asyncio.Lock:
        """What is held while a form of this reader is answered; whoever waits for it keeps it."""
        return self._locks.setdefault(reader, asyncio.Lock())


async def work_to_the_end(work: Callable[[], T]) -> T:
    """In a thread. A thread cannot be ended: who is cancelled meanwhile goes when it is over, with what they hold. A
    page asks anew at each pause of somebody who types and drops what it asked before, and would have as many threads
    at work as pauses."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
