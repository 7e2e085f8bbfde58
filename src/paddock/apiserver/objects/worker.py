"""Where the work of a request is done: short work on the event loop, long work in one thread beside it.

Each request waits for the loop, so no other may hold it for long. Work whose length depends on what somebody sent
counts its steps (`kube.budget`): it begins on the loop with few of them, begins again in the thread if they do not
suffice, and is refused if it needs more than `MOST_STEPS`. Rule: what runs in the thread is pure; only the loop reads
the store.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from paddock.kube.budget import Budget, Exhausted
from paddock.kube.errors import TooLarge, TooManyRequests, Unavailable

T = TypeVar("T")

SMALL_BYTES = 64 * 1024
"""Bytes of JSON that are worked on without counting: decoded, encoded, compared."""
SMALL_STEPS = 20_000
MOST_STEPS = 3_000_000
"""About five seconds. The largest body, of 3 MB, needs a tenth of it with the schema of a pod."""
MOST_WAITING = 64
# A thread gives way after 5 ms, unless told otherwise, and a write asks for its turn at each SQL statement.
_TURN_SECONDS = 0.0005


class Worker:
    """One thread, which is started when there is long work for it."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._waiting = 0
        self._closed = False

    async def run(self, work: Callable[[], T], size: int) -> T:
        """The result of work whose length depends on `size` bytes alone."""
        return work() if size <= SMALL_BYTES else await self.run_beside(work)

    async def compute(self, work: Callable[[Budget], T], size: int) -> T:
        """The result of work that counts its steps, on something of `size` bytes. It may be begun twice. `TooLarge` if
        it takes more than `MOST_STEPS`."""
        if size <= SMALL_BYTES:
            try:
                return work(Budget(SMALL_STEPS))
            except Exhausted:
                pass
        return await self.compute_beside(work)

    async def compute_beside(self, work: Callable[[Budget], T]) -> T:
        """As `compute`, in the thread."""
        try:
            return await self.run_beside(partial(work, Budget(MOST_STEPS)))
        except Exhausted:
            raise TooLarge(
                f"Request entity too large: checking it takes more than {MOST_STEPS} steps, which are its values times"
                " the parts of the schema that look at each of them. Make its lists shorter, or the schema simpler"
            ) from None

    async def run_beside(self, work: Callable[[], T]) -> T:
        """The result of `work`, in the thread. `TooManyRequests` if much waits for the thread already."""
        if self._closed:
            raise Unavailable("the embedded cluster is stopping; start it again with `paddock up`")
        if self._waiting >= MOST_WAITING:
            raise TooManyRequests(f"{MOST_WAITING} large requests wait already; try again later", retry_after=1)
        self._pool = self._pool or ThreadPoolExecutor(1, "paddock-long-work")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _give_way_often, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Work that has begun goes on, and its result is dropped."""
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _give_way_often(work: Callable[[], T]) -> T:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_SECONDS)
    try:
        return work()
    finally:
        sys.setswitchinterval(before)
