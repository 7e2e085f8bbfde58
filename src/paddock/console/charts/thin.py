"""A curve of any length -> as many points as a screen has, without its extremes being lost. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

MOST = 2_000
"""Points of a curve: more than a screen has in its width."""


def thin(values: Sequence[float], most: int = MOST) -> list[int]:
    """The places of at most `most` values (4 or more): the first, the last, and of each of equal stretches between
    them the lowest and the highest. What is no number (NaN) is no extreme, but a stretch of nothing else keeps one."""
    count = len(values)
    if count <= most:
        return list(range(count))
    stretches = (most - 2) // 2
    kept = [0]
    for stretch in range(stretches):
        begin = 1 + stretch * (count - 2) // stretches
        end = 1 + (stretch + 1) * (count - 2) // stretches
        kept += _find_extremes(values, begin, end)
    return [*kept, count - 1]


def average(values: Sequence[float], kept: Sequence[int]) -> list[float]:
    """Of each of the places that `thin` has kept the mean from there to the next, NaN where no number is: a curve that
    is smoothed must not be one of its extremes."""
    found = []
    for begin, end in pairwise([*kept, len(values)]):
        known = [value for value in values[begin:end] if math.isfinite(value)]
        found.append(math.fsum(known) / len(known) if known else math.nan)
    return found


def _find_extremes(values: Sequence[float], begin: int, end: int) -> list[int]:
    known = [place for place in range(begin, end) if values[place] == values[place]]
    if not known:
        return [begin] if begin < end else []
    return sorted({min(known, key=values.__getitem__), max(known, key=values.__getitem__)})
