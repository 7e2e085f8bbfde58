"""How long runs and their logs are kept. Pure.

What ran is kept for `Limits.seconds` after its end. Where the logs of all that is over take more than `Limits.bytes`,
the oldest go first: earlier runs of a name, then the logs of newest ones. The record of a name's newest run stays for
`NEWEST_SECONDS`, so that its number is not given twice; so do the logs of the run that ended last, for their time,
whatever they take. Nothing of a run that goes on is pruned, and its logs do not count: no other run could make room.
For the same reason a run whose own logs are above the limit costs no other run its logs: they do not count while it is
the run that ended last, and go before all others after that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.history.records import RunRecord
from paddock.kube.times import Moment

_DAY = 86400.0
NEWEST_SECONDS = 90 * _DAY
"""For which the record of a name's newest run is kept, if `Limits.seconds` is not longer."""
MOST_NAMES = 1000
"""Names whose newest run is kept so long: those that ran last."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept."""

    seconds: float = 7 * _DAY
    """After a run's end."""
    bytes: int = 2**30
    """Of all logs of runs that are over."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A run and the bytes that its logs take."""

    record: RunRecord
    bytes: int


@dataclass(frozen=True, slots=True)
class Pruning:
    """What goes, in the order in which it goes."""

    runs: tuple[RunRecord, ...] = ()
    """They go as a whole."""
    logs: tuple[RunRecord, ...] = ()
    """Runs of which the logs alone go."""


_TIMES = {"m": 60.0, "h": 3600.0, "d": _DAY, "w": 7 * _DAY}
_SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([A-Za-z]+)")


class WrongLimit(ValueError):
    """A part of the text that is neither a time nor a size, or a second one of its sort; `part` has it."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


def read_limits(text: str) -> Limits:
    """`7d,1GiB`, in either order; one alone leaves the other at its default. Raises `WrongLimit`."""
    found: dict[str, float] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        sort = "" if match is None else "seconds" if match[2] in _TIMES else "bytes" if match[2] in _SIZES else ""
        if match is None or not sort or sort in found:
            raise WrongLimit(part.strip())
        found[sort] = float(match[1]) * (_TIMES | _SIZES)[match[2]]
    limits = Limits()
    return Limits(found.get("seconds", limits.seconds), int(found.get("bytes", limits.bytes)))


def write_limits(limits: Limits) -> str:
    """The text that `read_limits` takes: `7d,1GiB`."""
    return f"{_write(limits.seconds, _TIMES)},{_write(limits.bytes, _SIZES)}"


def _write(amount: float, units: dict[str, float] | dict[str, int]) -> str:
    known = (name for name in units if name != "w" and amount >= units[name])  # a week is typed as often as `7d`
    largest = max(known, key=lambda name: units[name], default=min(units))
    return f"{amount / units[largest]:g}{largest}"


def plan_pruning(kept: Iterable[Kept], limits: Limits, now: Moment) -> Pruning:
    """What to prune."""
    everything = list(kept)
    over = sorted((each for each in everything if each.record.over), key=_order)
    newest = _find_newest(everything)
    earlier = [each for each in over if each.record.uid not in newest]
    last = [each for each in over if each.record.uid in newest]

    expired = {each.record.uid for each in over if now - _end(each.record) > limits.seconds}
    expired |= _crowded(over[:-1], over[-1].bytes if over else 0, newest, expired, limits.bytes)
    longest = max(limits.seconds, NEWEST_SECONDS)
    forgotten = {each.record.uid for each in last[:-MOST_NAMES]}
    forgotten |= {each.record.uid for each in last if now - _end(each.record) > longest}

    runs = [each for each in earlier if each.record.uid in expired]
    runs += [each for each in last if each.record.uid in forgotten]
    logs = [each for each in last if each.record.uid in expired - forgotten and each.bytes]
    return Pruning(tuple(each.record for each in runs), tuple(each.record for each in logs))


def _crowded(kept: Iterable[Kept], last: int, newest: set[str], expired: set[str], most: int) -> set[str]:
    """The UIDs of runs that go so that the rest takes `most` bytes. `last`: the bytes of the run that stays."""
    there = [each for each in kept if each.bytes and each.record.uid not in expired]
    left = sum(each.bytes for each in there) + (last if last <= most else 0)
    gone: set[str] = set()
    for each in sorted(there, key=lambda each: (each.bytes <= most, each.record.uid in newest)):
        if left > most:
            gone.add(each.record.uid)
            left -= each.bytes
    return gone


def _find_newest(kept: Iterable[Kept]) -> set[str]:
    """The UIDs of the newest run of each name."""
    newest: dict[tuple[str, str, str, str], RunRecord] = {}
    for each in kept:
        before = newest.get(each.record.identity)
        if before is None or before.run < each.record.run:
            newest[each.record.identity] = each.record
    return {record.uid for record in newest.values()}


def _order(kept: Kept) -> tuple[Moment, Moment, str]:
    """Oldest end first."""
    return _end(kept.record), kept.record.created, kept.record.uid


def _end(record: RunRecord) -> Moment:
    return record.created if record.ended is None else record.ended
