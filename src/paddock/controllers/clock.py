"""The time by which a controller ends things: the API server's, never that of the machine the controller runs on.

What times are compared with (`startTime`, `completionTime`, `deletionTimestamp`) was written by that server or by its
clock, and every answer of an HTTP server has a Date (RFC 9110, 6.6.1). Between two answers the time goes on by this
machine's steady clock.

A clock can also be set while a controller watches it. So the readings of the last half hour at least are compared with
the time that has gone by here: if they disagree by more than `TOLERANCE`, nobody knows what time it is, and nothing may
be failed or deleted for being late (`ServerClock.disagreement`). Servers whose clocks differ, and which answer in turn,
show the same way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from paddock.kube.times import Moment

TOLERANCE = 60.0
"""Seconds. A Date has whole seconds, and an answer may be under way for some."""

HOLD = 1800.0
"""A reading is compared with for this many seconds, and for as many more at most."""


def steady_clock() -> float:
    """Seconds of CLOCK_BOOTTIME, which nobody sets, or of the monotonic clock where the system has none."""
    # It counts the sleep of a machine too: a leader that wakes must find its term over.
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class ServerClock:
    """Reads `read_header` of every answer, or `read`; `now` before the first reading is this machine's time. Threads
    may share it, as the clients of a process do."""

    def __init__(self, steady: Callable[[], float] = steady_clock, local: Callable[[], Moment] = time.time) -> None:
        self._steady = steady
        self._ahead = local() - steady()
        """Seconds of the last reading, beyond the steady clock."""
        self._ranges: list[tuple[float, float]] = []
        """The smallest and the largest `_ahead` of the present period, and of the one before."""
        self._begun = 0.0
        self._header = ""
        self._reading = threading.Lock()

    def now(self) -> Moment:
        return self._steady() + self._ahead

    def read_header(self, date: str | None) -> None:
        """`Sat, 21 Nov 2026 11:00:37 GMT`; what is no date is not read."""
        if not date or date == self._header:
            return
        self._header = date
        try:
            self.read(parsedate_to_datetime(date).timestamp())
        except (TypeError, ValueError, OverflowError):
            return

    def read(self, moment: Moment) -> None:
        with self._reading:
            now = self._steady()
            self._ahead = ahead = moment - now
            if not self._ranges or now - self._begun >= HOLD:
                # After a long silence, what was read before is as good as ever: the steady clock has gone on.
                self._ranges, self._begun = [(ahead, ahead), *self._ranges[:1]], now
            low, high = self._ranges[0]
            self._ranges[0] = (min(low, ahead), max(high, ahead))

    def disagreement(self) -> float:
        """Seconds by which the readings disagree with the time that has gone by; 0 within the tolerance."""
        if not self._ranges:
            return 0.0
        span = max(high for _, high in self._ranges) - min(low for low, _ in self._ranges)
        return span if span > TOLERANCE else 0.0


class LocalClock(ServerClock):
    """The clock of a machine that is the API server itself: read at every question."""

    def __init__(self, steady: Callable[[], float] = steady_clock, local: Callable[[], Moment] = time.time) -> None:
        super().__init__(steady, local)
        self._local = local

    def now(self) -> Moment:
        self.read(self._local())
        return super().now()
