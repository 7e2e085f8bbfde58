"""Indexes of ranks as text: `0-3,7`, as `completedIndexes` of Kubernetes' Job. Many ranks take few bytes."""

from __future__ import annotations

import re
from collections.abc import Collection

from paddock.jobs.apis import MOST_PODS

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_LONGEST = 64 * 1024
"""Characters: every other one of `MOST_PODS` takes 25,000."""


def write_indexes(indexes: Collection[int]) -> str:
    ranges: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1] = (ranges[-1][0], index)
        else:
            ranges.append((index, index))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def read_indexes(text: str) -> frozenset[int]:
    """None at all where one is unreadable, or more than a job may have: what is not surely true must not be believed.
    Never raises."""
    found = set[int]()
    if len(text) > _LONGEST:
        return frozenset()
    for each in text.split(",") if text else ():
        match = _RANGE.fullmatch(each)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < MOST_PODS:
            return frozenset()
        found.update(range(first, last + 1))
    return frozenset(found)
