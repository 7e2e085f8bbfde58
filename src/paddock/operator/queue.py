"""Which key is worked on next: deduplicated, delayed, backed off, and never in two hands at once.

`Schedule` decides and is PURE: moments come in. `Queue` is the thin rim that waits. The rules are those of client-go's
workqueue: a key that is added while somebody works on it is done again afterwards; a key that failed comes back after a
delay that doubles with each failure in a row.

One difference: a key waits once. An earlier moment replaces a later one, as each pass says anew when the next is due.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_DELAY = 0.1
LONGEST_DELAY = 60.0


class Schedule(Generic[K]):
    """Keys and the moments from which they are due, in seconds."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}  # every waiting key, also those in work that are to be done again
        self._heap: list[tuple[float, int, K]] = []  # may hold outdated entries; _due tells
        self._in_work: set[K] = set()
        self._failures: dict[K, int] = {}
        self._added = 0

    def add(self, key: K, at: float) -> None:
        if key in self._due and self._due[key] <= at:
            return
        self._due[key] = at
        if key not in self._in_work:
            self._push(key, at)

    def fail(self, key: K, now: float) -> float:
        """Again after a delay, which is returned: 0.1 s, doubled for each failure in a row, at most 60 s."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 16)))
        self.add(key, now + delay)
        return delay

    def forgive(self, key: K) -> None:
        """It went well: the next failure counts as the first."""
        self._failures.pop(key, None)

    def take(self, now: float) -> K | None:
        """The key that has been due longest; in work until `done`."""
        if self.next_at() is None or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._due[key]
        self._in_work.add(key)
        return key

    def done(self, key: K) -> None:
        self._in_work.discard(key)
        if key in self._due:
            self._push(key, self._due[key])

    def next_at(self) -> float | None:
        """When the next key that nobody works on is due."""
        while self._heap:
            at, _, key = self._heap[0]
            if self._due.get(key) == at and key not in self._in_work:
                return at
            heapq.heappop(self._heap)
        return None

    def depth(self, now: float) -> int:
        """How many keys are due and wait."""
        return sum(at <= now for at in self._due.values())

    def _push(self, key: K, at: float) -> None:
        self._added += 1
        heapq.heappush(self._heap, (at, self._added, key))


class Queue(Generic[K]):
    """A `Schedule` to wait at, for one taker at a time. `clock` in seconds, such as `time.monotonic`; `on_take` hears
    since when a key that is taken was due."""

    def __init__(self, clock: Callable[[], float], on_take: Callable[[float], None] = lambda _: None) -> None:
        self._schedule: Schedule[K] = Schedule()
        self._clock = clock
        self._on_take = on_take
        self._news = asyncio.Event()

    def add(self, key: K, delay: float = 0.0) -> None:
        self._schedule.add(key, self._clock() + delay)
        self._news.set()

    def fail(self, key: K) -> float:
        delay = self._schedule.fail(key, self._clock())
        self._news.set()
        return delay

    def forgive(self, key: K) -> None:
        self._schedule.forgive(key)

    def done(self, key: K) -> None:
        self._schedule.done(key)
        self._news.set()

    def depth(self) -> int:
        return self._schedule.depth(self._clock())

    async def take(self) -> K:
        """The next key that is due; waits for one."""
        while True:
            at = self._schedule.next_at()
            key = self._schedule.take(self._clock())
            if key is not None:
                self._on_take(at or 0.0)
                return key
            self._news.clear()
            patience = None if at is None else max(0.0, at - self._clock())
            try:
                async with asyncio.timeout(patience):
                    await self._news.wait()
            except TimeoutError:
                pass
