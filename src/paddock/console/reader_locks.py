"""A lock per reader: to check the text of a form takes up to a second of the processor that all readers share.

The page of a form is as dear as what it is sent with: a job that is edited or cloned is checked as well. Forms have
threads of their own, so that logs, charts and what the doctor says of other readers never wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

_FORMS = ThreadPoolExecutor(2, "paddock-forms")
"""Python does one thing at a time: more threads would only take turns."""


class PerReaderLock:
    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, reader: str) -> asyncio.Lock:
        """What is held while a form of this reader is answered; whoever waits for it keeps it."""
        return self._locks.setdefault(reader, asyncio.Lock())


async def work_to_the_end(work: Callable[[], T]) -> T:
    """Works in a thread of forms. A thread cannot be ended: who is cancelled meanwhile goes when it is over, with what
    they hold. A page asks anew at each pause of somebody who types and drops what it asked before, and would have as
    many threads at work as pauses."""
    thread = asyncio.get_running_loop().run_in_executor(_FORMS, work)
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
