"""How often a source that fails is tried again, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.meter import RETRYING, Meter
from paddock.datasets.fetching import Fault
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is tried, and how long it waits."""

    most: int = 8  # tries in a row of which none gets further than those before
    first: float = 1.0  # seconds before the second try; each wait is twice the one before
    longest: float = 30.0  # seconds between two tries

    def delay(self, failed: int) -> float:
        return min(self.longest, self.first * 2.0 ** (failed - 1))


class TryAgain(Exception):
    """The source failed in a way that may pass. `reason`: a sentence, in English. `after`: seconds that it asked to
    wait."""

    def __init__(self, reason: Phrase | str, after: float = 0.0) -> None:
        self.reason, self.after = str(reason), after
        super().__init__(self.reason)


class Tries:
    """The tries of one file."""

    def __init__(
        self, meter: Meter, patience: Patience, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._meter = meter
        self._patience = patience
        self._sleep = sleep
        self._failed = 0
        self._best = 0

    def reach(self, size: int) -> None:
        """The file has so many bytes. More than ever before: the count of failures begins anew."""
        if size > self._best:
            self._best, self._failed = size, 0

    async def wait(self, problem: TryAgain) -> None:
        """Waits for the next try. Raises `FetchError` (network) after the last."""
        self._failed += 1
        if self._failed >= self._patience.most:
            said = phrase("{why}; tried {count} times without getting further", why=problem.reason, count=self._failed)
            raise FetchError(said, Fault.NETWORK)
        self._meter.enter(RETRYING, problem.reason)
        await self._sleep(max(self._patience.delay(self._failed), min(problem.after, self._patience.longest)))
