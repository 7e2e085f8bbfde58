"""A curve of any length -> as many points as a screen has, without its extremes being lost. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    """Around each of the places that `thin` has kept the mean of as many values as two of these stand for, NaN where
    none of them is a number: a curve of extremes that is smoothed would be one of neither the values nor their mean."""
    reach = len(values) // len(kept)
    return [_mean(values[max(0, place - reach) : place + reach + 1]) for place in kept]


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _find_extremes(values: Sequence[float], begin: int, end: int) -> list[int]:
    known = [place for place in range(begin, end) if values[place] == values[place]]
    if not known:
        return [begin] if begin < end else []
    return sorted({min(known, key=values.__getitem__), max(known, key=values.__getitem__)})
