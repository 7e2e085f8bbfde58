"""The order of a keyed work queue: deduplicated, delayed, with back-off, and never two works on one key. PURE.

Rules of client-go's workqueue: a key that is added during its work is due again afterwards; a key that failed is due
after a delay that doubles with each failure in a row. One difference: a key has one due time, as each reconcile returns
when the next is due.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable
from typing import Generic, TypeVar

from paddock.kube.times import exponential_backoff

K = TypeVar("K", bound=Hashable)

_MAX_OUTDATED = 1_000
"""Outdated entries in the heap before it is rebuilt: replaced times far in the future stay in it."""


class Schedule(Generic[K]):
    """Keys and the times from which they are due, in seconds of one clock. `first_delay` and `longest_delay`: limits of
    the back-off, in seconds."""

    def __init__(self, *, first_delay: float, longest_delay: float) -> None:
        self._first_delay = first_delay
        self._longest_delay = longest_delay
        self._due: dict[K, float] = {}  # every waiting key, also a key in work that was added again
        self._heap: list[tuple[float, int, K]] = []  # may hold outdated entries; _due tells
        self._in_work: set[K] = set()
        self._failures: dict[K, int] = {}
        self._added = 0

    def add(self, key: K, at: float) -> None:
        """An earlier time replaces a later one."""
        if key in self._due and self._due[key] <= at:
            return
        self._wait(key, at)

    def move(self, key: K, at: float, now: float) -> None:
        """`at` replaces the time that was set before, earlier or later."""
        # A key that is due already stays due: an event has added it, perhaps during the present work.
        due = self._due.get(key)
        if due is None or due > now:
            self._wait(key, at)

    def fail(self, key: K, now: float) -> float:
        """Count a failure; the key is due again after the returned delay."""
        delay = self.back_off(key)
        self.add(key, now + delay)
        return delay

    def back_off(self, key: K, first_delay: float | None = None) -> float:
        """Count a failure; the delay after all failures in a row. `first_delay` replaces the default."""
        self._failures[key] = self.failures(key) + 1
        first = self._first_delay if first_delay is None else first_delay
        return exponential_backoff(self._failures[key], first, self._longest_delay)

    def failures(self, key: K) -> int:
        """The number of failures in a row."""
        return self._failures.get(key, 0)

    def reset_failures(self, key: K) -> None:
        """The work succeeded: the next failure counts as the first."""
        self._failures.pop(key, None)

    def forget(self, key: K) -> None:
        """Remove the key and its failures."""
        self._due.pop(key, None)
        self.reset_failures(key)

    def take(self, now: float) -> K | None:
        """The key that has been due longest; it is in work until `done`."""
        if self.next_at() is None or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._due[key]
        self._in_work.add(key)
        return key

    def begin(self, key: K, now: float) -> None:
        """The work on a taken key starts only now: this work covers what was added for the key until `now`."""
        if self._due.get(key, math.inf) <= now:
            del self._due[key]

    def done(self, key: K) -> None:
        self._in_work.discard(key)
        if key in self._due:
            self._push(key, self._due[key])

    def next_at(self) -> float | None:
        """The time at which the next key that is not in work is due."""
        while self._heap:
            if self._holds(self._heap[0]):
                return self._heap[0][0]
            heapq.heappop(self._heap)
        return None

    def depth(self, now: float) -> int:
        """The number of waiting keys that are due."""
        return sum(at <= now for at in self._due.values())

    def age(self, now: float) -> float:
        """How long the key that has been due longest has waited, in seconds; 0 without one."""
        return max((now - at for at in self._due.values() if at <= now), default=0.0)

    def _wait(self, key: K, at: float) -> None:
        self._due[key] = at
        if key not in self._in_work:
            self._push(key, at)

    def _push(self, key: K, at: float) -> None:
        self._added += 1
        heapq.heappush(self._heap, (at, self._added, key))
        if len(self._heap) > 2 * len(self._due) + _MAX_OUTDATED:
            self._heap = list(filter(self._holds, self._heap))
            heapq.heapify(self._heap)

    def _holds(self, entry: tuple[float, int, K]) -> bool:
        """Whether the entry is not outdated: the key waits for this time, and is not in work."""
        return self._due.get(entry[2]) == entry[0] and entry[2] not in self._in_work
