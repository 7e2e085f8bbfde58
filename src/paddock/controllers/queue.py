"""A keyed work queue for one consumer. `controllers.schedule` decides which key is taken next, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from paddock.controllers.schedule import Schedule

K = TypeVar("K", bound=Hashable)

FIRST_DELAY = 0.1
LONGEST_DELAY = 60.0
"""Seconds of back-off."""


class WorkQueue(Generic[K]):
    """`clock` in seconds, such as `time.monotonic`. `on_take` gets the time at which the taken key was due."""

    def __init__(self, clock: Callable[[], float], on_take: Callable[[float], None] = lambda _: None) -> None:
        self._schedule: Schedule[K] = Schedule(first_delay=FIRST_DELAY, longest_delay=LONGEST_DELAY)
        self._clock = clock
        self._on_take = on_take
        self._added = asyncio.Event()

    def add(self, key: K, delay: float = 0.0) -> None:
        self._schedule.add(key, self._clock() + delay)
        self._added.set()

    def put_off(self, key: K, delay: float) -> None:
        """After this delay, and after every key that was added."""
        self._schedule.put_off(key, self._clock() + delay)
        self._added.set()

    def presses(self) -> bool:
        """Whether a key is due that was not put off."""
        return self._schedule.presses(self._clock())

    def fail(self, key: K) -> float:
        delay = self._schedule.fail(key, self._clock())
        self._added.set()
        return delay

    def reset_failures(self, key: K) -> None:
        self._schedule.reset_failures(key)

    def done(self, key: K) -> None:
        self._schedule.done(key)
        self._added.set()

    def depth(self) -> int:
        return self._schedule.depth(self._clock())

    def age(self) -> float:
        return self._schedule.age(self._clock())

    async def take(self) -> K:
        """Wait for the next key that is due, and return it."""
        while True:
            key = self._schedule.take(self._clock())
            if key is not None:
                self._on_take(self._schedule.taken_at)
                return key
            self._added.clear()
            at = self._schedule.next_at()
            seconds = None if at is None else max(0.0, at - self._clock())
            try:
                async with asyncio.timeout(seconds):
                    await self._added.wait()
            except TimeoutError:
                pass
