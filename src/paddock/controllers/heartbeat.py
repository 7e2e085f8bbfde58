"""How long the event loop keeps everybody waiting: the delays of a heartbeat, and the longest of the last minutes.

All of a loop waits while one task computes: no request is answered, no pod is started. Another thread sees by the age
of the last beat whether the loop still turns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

KEPT_MINUTES = 5
_BEAT_SECONDS = 0.25


class Delays:
    """The longest delay of each of the last minutes. Times and delays in seconds."""

    def __init__(self) -> None:
        self._longest: dict[int, float] = {}

    def record(self, delay: float, now: float) -> None:
        minute = int(now // 60)
        if delay > self._longest.get(minute, 0.0):
            self._longest[minute] = delay
        for old in [kept for kept in self._longest if kept <= minute - KEPT_MINUTES]:
            del self._longest[old]

    def longest(self, now: float) -> float:
        """The longest delay of this minute and those before it, `KEPT_MINUTES` in all; 0.0 if there was none."""
        first = int(now // 60) - KEPT_MINUTES
        return max((delay for minute, delay in self._longest.items() if minute > first), default=0.0)


class Heartbeat:
    """Sleeps again and again, and records how much later than asked for it wakes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._delays = Delays()
        self._beaten = clock()

    def age(self) -> float:
        """Seconds since the last beat: a fraction of one while the loop turns. Any thread may ask."""
        return self._clock() - self._beaten

    def longest_delay(self) -> float:
        """Seconds, of the last minutes. What ended within a beat's sleep counts from its end: a quarter of a second
        less, at most."""
        return self._delays.longest(self._clock())

    async def run(self) -> None:
        """Beats until cancelled."""
        while True:
            due = self._clock() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            now = self._beaten = self._clock()
            self._delays.record(max(0.0, now - due), now)
