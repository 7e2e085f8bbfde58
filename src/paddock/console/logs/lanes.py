"""The ranks of one attempt as lanes: which one is opened, in what order they stand, and which are folded. Pure.

The rank that failed first stands first. The cause names it where the operator knows it; else it is the one with an
error of its own that fell silent first, as its peers go on until they notice. Ranks that only lost a peer are folded to
one line: they say nothing of the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from paddock.console.backend import KeptLog
from paddock.console.logs.errors import ErrorLine
from paddock.jobs.model import Rank

MOST_OPEN = 20


@dataclass(frozen=True, slots=True)
class Lane:
    """The log of one rank."""

    rank: str
    log: KeptLog | None = None  # None for a rank of which nothing is kept: it has printed nothing
    error: ErrorLine | None = None
    is_first: bool = False  # it failed first

    @property
    def is_silent(self) -> bool:
        return self.log is None or self.log.size == 0

    @property
    def is_removed(self) -> bool:
        """It has printed something of which nothing is kept."""
        return self.log is not None and self.log.left_out is not None and self.log.left_out.removed

    @property
    def is_missed(self) -> bool:
        """Its pod was gone before its log was read to its end, so it may have printed more."""
        return self.log is not None and self.log.left_out is not None and self.log.left_out.missed is not None


@dataclass(frozen=True, slots=True)
class Lanes:
    """The logs of an attempt, sorted by what a reader looks at first."""

    open: tuple[Lane, ...] = ()  # listed
    echoes: tuple[Lane, ...] = ()  # folded, with their count
    rest: tuple[Lane, ...] = ()  # folded, with their count

    def find(self, rank: str) -> Lane | None:
        return next((lane for lane in (*self.open, *self.echoes, *self.rest) if lane.rank == rank), None)

    @property
    def first(self) -> Lane | None:
        """The one to be opened where nobody asked for another."""
        return next((lane for lane in self.open if not lane.is_silent), self.open[0] if self.open else None)


def list_lanes(logs: Iterable[KeptLog], ranks: Iterable[Rank]) -> list[Lane]:
    """One for each log, and for each rank that the job has and that has none, by role and index."""
    lanes = [(log.role, log.index, Lane(log.rank, log)) for log in logs]
    known = {lane.rank for _, _, lane in lanes}
    lanes += [(rank.role, rank.index, Lane(str(rank))) for rank in ranks if str(rank) not in known]
    return [lane for _, _, lane in sorted(lanes, key=lambda each: each[:2])]


def arrange(lanes: Sequence[Lane], failed: str, chosen: Sequence[str] = (), most: int = MOST_OPEN) -> Lanes:
    """`failed`: the rank that the cause names, or empty. `chosen`: ranks that are listed in any case."""
    first = failed if any(lane.rank == failed for lane in lanes) else _find_first(lanes)
    told = [replace(lane, is_first=lane.rank == first) for lane in lanes]
    told.sort(key=lambda lane: (not lane.is_first, not _has_own_error(lane), lane.is_silent))
    kept = {first, *chosen}
    echoes = [lane for lane in told if lane.error and lane.error.is_echo and lane.rank not in kept]
    if len(echoes) < 2 or not first:
        echoes = []
    folded = {lane.rank for lane in echoes}
    others = [lane for lane in told if lane.rank not in folded]
    shown = [lane for place, lane in enumerate(others) if place < most or lane.rank in kept]
    seen = {lane.rank for lane in shown}
    return Lanes(tuple(shown), tuple(echoes), tuple(lane for lane in others if lane.rank not in seen))


def _has_own_error(lane: Lane) -> bool:
    return lane.error is not None and not lane.error.is_echo


def _find_first(lanes: Iterable[Lane]) -> str:
    failed = [(lane.log.modified, lane.rank) for lane in lanes if lane.log and _has_own_error(lane)]
    return min(failed)[1] if failed else ""
