"""The order of a keyed work queue: deduplicated, delayed, with back-off, and never two works on one key. PURE.

Rules of client-go's workqueue: a key that is added during its work is due again afterwards; a key that failed is due
after a delay that doubles with each failure in a row. Differences: a key has one due time, as each reconcile returns
when the next is due; and work that can wait is put off until nothing else is due (controller-runtime: priorities).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Container, Hashable
from typing import Generic, TypeVar

from paddock.kube.times import exponential_backoff

K = TypeVar("K", bound=Hashable)

PATIENCE = 15.0
"""Seconds for which what was put off waits for other keys."""

_MAX_OUTDATED = 1_000
"""Outdated entries in the heap before it is rebuilt: replaced times far in the future stay in it."""


class _Lane(Generic[K]):
    """Keys and the times from which they are due. Keys in work are not pushed: `done` does that."""

    def __init__(self) -> None:
        self.due: dict[K, float] = {}  # every waiting key, also a key in work that was added again
        self._heap: list[tuple[float, int, K]] = []  # may hold outdated entries; `due` tells
        self._added = 0

    def push(self, key: K) -> None:
        self._added += 1
        heapq.heappush(self._heap, (self.due[key], self._added, key))
        if len(self._heap) > 2 * len(self.due) + _MAX_OUTDATED:
            self._heap = list(filter(self._holds, self._heap))
            heapq.heapify(self._heap)

    def next_at(self, in_work: Container[K]) -> float:
        """Infinite without a key that is not in work."""
        while self._heap:
            if self._holds(self._heap[0]) and self._heap[0][2] not in in_work:
                return self._heap[0][0]
            heapq.heappop(self._heap)
        return math.inf

    def pop(self) -> K:
        """The key of `next_at`."""
        key = heapq.heappop(self._heap)[2]
        del self.due[key]
        return key

    def _holds(self, entry: tuple[float, int, K]) -> bool:
        """Whether the entry is not outdated: the key waits for this time."""
        return self.due.get(entry[2]) == entry[0]


class Schedule(Generic[K]):
    """Keys and the times from which they are due, in seconds of one clock. `first_delay` and `longest_delay`: limits of
    the back-off, in seconds. What is put off waits for other keys for `patience` seconds at most."""

    def __init__(self, *, first_delay: float, longest_delay: float, patience: float = PATIENCE) -> None:
        self._first_delay = first_delay
        self._longest_delay = longest_delay
        self._patience = patience
        self._urgent: _Lane[K] = _Lane()
        self._put_off: _Lane[K] = _Lane()
        self._promised: _Lane[K] = _Lane()  # when the patience with what was put off ends
        self._in_work: set[K] = set()
        self._failures: dict[K, int] = {}
        self.taken_at = 0.0
        """When the key that was taken last was due."""

    @property
    def _lanes(self) -> tuple[_Lane[K], _Lane[K], _Lane[K]]:
        return self._urgent, self._put_off, self._promised

    def add(self, key: K, at: float) -> None:
        """An earlier time replaces a later one."""
        if self._urgent.due.get(key, math.inf) > at:
            self._wait(self._urgent, key, at)

    def put_off(self, key: K, at: float) -> None:
        """Due at this time, but after every key that was added. The work on a key that is taken covers both; where that
        work puts it off anew, the patience counts from the first time."""
        if self._put_off.due.get(key) != at:
            self._wait(self._put_off, key, at)
        if self._promised.due.get(key, math.inf) > at + self._patience:
            self._wait(self._promised, key, at + self._patience)

    def move(self, key: K, at: float, now: float) -> None:
        """`at` replaces the time that was set before, earlier or later."""
        # A key that is due already stays due: an event has added it, perhaps during the present work.
        if self._urgent.due.get(key, math.inf) > now:
            self._wait(self._urgent, key, at)

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
        for lane in self._lanes:
            lane.due.pop(key, None)
        self.reset_failures(key)

    def take(self, now: float) -> K | None:
        """The key that has been due longest; it is in work until `done`. What was put off comes last, or once it has
        waited for `patience` seconds."""
        urgent, put_off, promised = (lane.next_at(self._in_work) for lane in self._lanes)
        if promised <= now:
            key = self._promised.pop()
            self.taken_at = self._put_off.due.pop(key)
        elif put_off <= now < urgent:
            self.taken_at, key = put_off, self._put_off.pop()
        elif urgent <= now:
            self.taken_at, key = urgent, self._urgent.pop()
            self._put_off.due.pop(key, None)
        else:
            return None
        self._in_work.add(key)
        return key

    def begin(self, key: K, now: float) -> None:
        """The work on a taken key starts only now: this work covers what was added for the key until `now`."""
        if self._urgent.due.get(key, math.inf) <= now:
            del self._urgent.due[key]

    def done(self, key: K) -> None:
        self._in_work.discard(key)
        if key not in self._put_off.due:
            self._promised.due.pop(key, None)
        for lane in self._lanes:
            if key in lane.due:
                lane.push(key)

    def next_at(self) -> float | None:
        """The time at which the next key that is not in work is due."""
        at = min(lane.next_at(self._in_work) for lane in self._lanes)
        return None if at == math.inf else at

    def presses(self, now: float) -> bool:
        """Whether a key is due that was not put off."""
        return self._urgent.next_at(self._in_work) <= now

    def depth(self, now: float) -> int:
        """The number of waiting keys that are due, without those that were put off."""
        return sum(at <= now for at in self._urgent.due.values())

    def age(self, now: float) -> float:
        """How long the key that has been due longest has waited, in seconds; 0 without one."""
        return max((now - at for at in self._urgent.due.values() if at <= now), default=0.0)

    def _wait(self, lane: _Lane[K], key: K, at: float) -> None:
        lane.due[key] = at
        if key not in self._in_work:
            lane.push(key)
