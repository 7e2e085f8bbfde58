"""How long runs and their logs are kept. Pure.

What ran is kept for `Limits.seconds` after its end, and the oldest go first where all together take more than
`Limits.bytes`. Never pruned: a run that goes on, and the newest run of each name, whatever they take.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.history.records import RunRecord
from paddock.kube.times import Moment

_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` after a run's end; `bytes` of all logs together."""

    seconds: float = 7 * _DAY
    bytes: int = 2**30


@dataclass(frozen=True, slots=True)
class Kept:
    """A run and the bytes that its logs take."""

    record: RunRecord
    bytes: int


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


def plan_pruning(kept: Iterable[Kept], limits: Limits, now: Moment) -> list[RunRecord]:
    """The runs to prune, oldest end first."""
    everything = list(kept)
    newest: dict[tuple[str, str, str, str], int] = {}
    for each in everything:
        newest[each.record.identity] = max(each.record.run, newest.get(each.record.identity, 0))
    taken = sum(each.bytes for each in everything)
    pruned = []
    for each in sorted(everything, key=lambda each: (_end(each.record), each.record.created, each.record.uid)):
        if not each.record.over or each.record.run == newest[each.record.identity]:
            continue
        if now - _end(each.record) > limits.seconds or taken > limits.bytes:
            taken -= each.bytes
            pruned.append(each.record)
    return pruned


def _end(record: RunRecord) -> Moment:
    return record.created if record.ended is None else record.ended
