"""The places of fetching: so many datasets are fetched at the same time, the others wait.

A fetch whose source does not answer needs its place for nothing. It gives the place to one that waits for it: its child
is ended, which costs nothing as the next one goes on at the same byte, and after a pause it waits for a place itself.
While nobody waits it keeps its place, so a short failure costs no second process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from paddock.datasets.fetch.meter import RETRYING
from paddock.datasets.fetching import Failed as ReportedFailure
from paddock.datasets.fetching import Fault, Fetched, Progress

STUCK_SECONDS = 2.0
"""How long a source may bring nothing before its place goes to another dataset."""

PAUSES = 4.0, 8.0, 16.0, 30.0, 30.0
"""Seconds without a place, by the number of those in a row that brought nothing. After the last it has failed."""

_LOOK_SECONDS = 0.5

Tell = Callable[[Progress], None]
RunChild = Callable[[Tell], Coroutine[None, None, Fetched | ReportedFailure]]
"""Runs a child to its end; when it is cancelled, the child is ended, and the next one goes on where it was."""


class Places:
    """`count` of them. Made within a running loop."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = asyncio.Semaphore(count)
        self._waiting = 0

    @property
    def are_taken(self) -> bool:
        return self._free.locked()

    @property
    def are_wanted(self) -> bool:
        """Whether somebody waits for one."""
        return self._waiting > 0

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Waits for a place, first come first served, and has it until the end."""
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()


@dataclass(slots=True)
class Attempt:
    """One dataset, from one place to the next. `pauses`: those in a row after which nothing more had come."""

    stuck_seconds: float = STUCK_SECONDS
    progress: Progress = field(default_factory=lambda: Progress(phase="starting"))
    pauses: int = 0
    best: int = 0
    stuck_since: float | None = None

    def hear(self, progress: Progress, now: float) -> None:
        if progress.phase != RETRYING:
            self.stuck_since = None
        elif self.stuck_since is None or progress.done > self.progress.done:
            self.stuck_since = now
        self.progress = progress
        if progress.done > self.best:
            self.best, self.pauses = progress.done, 0

    def is_stuck(self, now: float) -> bool:
        return self.stuck_since is not None and now - self.stuck_since >= self.stuck_seconds

    def pause(self) -> float | ReportedFailure:
        """Seconds until it wants a place again; its end after the last pause."""
        self.stuck_since = None
        self.pauses += 1
        if self.pauses <= len(PAUSES):
            return PAUSES[self.pauses - 1]
        reason = self.progress.reason or "the source was cut"
        said = f"{reason}; tried {self.pauses} times without getting further"
        return ReportedFailure(message=said, fault=Fault.NETWORK)


async def run_until_stuck(
    places: Places, attempt: Attempt, tell: Tell, child: RunChild
) -> Fetched | ReportedFailure | None:
    """The end of a child that has a place; None where it brings nothing, somebody waits, and it was ended."""
    now = asyncio.get_running_loop().time

    def hear(progress: Progress) -> None:
        attempt.hear(progress, now())
        tell(progress)

    working = asyncio.create_task(child(hear))
    try:
        while not working.done():
            await asyncio.wait([working], timeout=min(_LOOK_SECONDS, attempt.stuck_seconds))
            if not working.done() and places.are_wanted and attempt.is_stuck(now()):
                return None
        return await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
