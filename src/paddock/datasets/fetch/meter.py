"""How far a fetch is: counts, speed, and the lines that report them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from paddock.datasets.fetching import REPORT_SECONDS, Progress, Report

SPEED_SECONDS = 5.0
"""The time whose bytes make the speed."""

LISTING, FETCHING, VERIFYING, RETRYING = "listing", "fetching", "verifying", "retrying"


class Meter:
    """Counts, and says `Progress` to `say`, at each phase and at most each half second within one.

    `done` is what is there; `fetched` what this process has received.
    """

    def __init__(self, say: Callable[[Report], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._phase = LISTING
        self._reason = ""
        self._said_at = float("-inf")
        self._said: Progress | None = None
        self._window: deque[tuple[float, int]] = deque()
        self.done = self.total = self.files = self.all_files = self.fetched = 0

    def enter(self, phase: str, reason: str = "") -> None:
        """Another phase, which is said at once."""
        if (phase, reason) != (self._phase, self._reason) or self._said is None:
            self._phase, self._reason = phase, reason
            self._report()

    def expect(self, total: int, all_files: int) -> None:
        self.total, self.all_files = total, all_files

    def receive(self, count: int) -> None:
        """Bytes that came from the source and were written."""
        self.done += count
        self.fetched += count
        if self._phase != FETCHING:
            self.enter(FETCHING)
        self.tick()

    def find(self, count: int, files: int = 0) -> None:
        """Bytes and files that were there already; less than 0 for those that are dropped."""
        self.done += count
        self.files += files
        self.tick()

    def finish_file(self) -> None:
        self.files += 1
        self.tick()

    def tick(self) -> None:
        """Says how far it is, if there is something new and half a second has passed."""
        if self._clock() - self._said_at >= REPORT_SECONDS:
            self._report()

    def _report(self) -> None:
        progress = Progress(
            phase=self._phase,
            done=self.done,
            total=self.total,
            files=self.files,
            all_files=self.all_files,
            speed=self._measure(),
            reason=self._reason,
        )
        self._said_at = self._clock()
        if progress != self._said:
            self._said = progress
            self._say(progress)

    def _measure(self) -> float:
        """Bytes per second over the last seconds."""
        now = self._clock()
        self._window.append((now, self.fetched))
        while len(self._window) > 2 and self._window[1][0] <= now - SPEED_SECONDS:
            self._window.popleft()
        begin, count = self._window[0]
        return round((self.fetched - count) / (now - begin), 1) if now - begin > 0.2 else 0.0
