"""Since when no rank of a gang prints, by looks at the last lines of their logs, one rank at a time. Pure.

On a cluster a look is a request, and a gang may have thousands of ranks. So they are looked at in sweeps. A rank that
has printed since answers for all, so a sweep ends once one is found; one in which none is found goes on until all were
looked at, and only that proves a silence. A silence is never told for longer than it is proven.

A last line is compared with the one of the look before, and its own time is not read: that is of the node's clock,
which may differ from all others by minutes. All times here are seconds of one steady clock, the reader's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

SAMPLE = 16
"""Ranks that are looked at in each sweep, also if one of them has printed: the others in turn."""
_TALKERS = 2
"""Of them, those that have printed last. In most programs one rank prints, ever the same."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a rank's log."""

    line: bytes
    """What its last line is known by."""
    first: float
    """When it was looked at for the first time."""
    heard: float
    """Until when it may have printed: the end of the last look at which something new was there, or of the first."""
    looked: float
    """Up to when it is known to have printed nothing since: the begin of the last look; infinity of a rank that prints
    nothing any more, as its program has ended."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank of a gang that is looked at."""

    seen: Seen | None = None
    """None before its first look."""
    tried: float = -math.inf
    """When a look was begun last, whether it succeeded or not."""


def take_look(before: Seen | None, line: bytes, began: float, ended: float, *, is_heard: bool) -> Seen:
    """What is known after a look. `is_heard`: something is new, and it does not only say that its process waits. What
    was printed before the first look may have been printed just before it."""
    if before is None:
        return Seen(line, first=ended, heard=ended, looked=began)
    return replace(before, line=line, heard=ended if is_heard else before.heard, looked=began)


def rest(now: float) -> Seen:
    """Of a rank that prints nothing from now on, as its program does not run. It may have printed up to now."""
    return Seen(b"", first=now, heard=now, looked=math.inf)


def measure_quiet(ranks: Collection[Seen | None], *, fresh: float = -math.inf) -> float:
    """Seconds for which it is proven that no rank has printed: from the last time that any may have, up to the oldest
    of their last looks. 0 while any was never looked at, for a gang of which nothing runs, and where that look was
    before `fresh`: what was silent once may print by now."""
    seen = [each for each in ranks if each is not None]
    if len(seen) < len(ranks) or not seen:
        return 0.0
    proven = min(each.looked for each in seen)
    if math.isinf(proven) or proven < fresh:
        return 0.0
    return max(proven - max(each.heard for each in seen), 0.0)


def choose_looks(ranks: Mapping[str, Rank], since: float, most: int) -> tuple[str, ...]:
    """The ranks that are to be looked at next in the sweep that began `since`, at most so many; none where it is done.
    Ranks that were never looked at come first, whoever has printed: without them nothing is ever proven. Then come
    those that have printed last, then those whose last look is oldest."""
    left = [name for name, rank in ranks.items() if rank.tried < since and not _is_at_rest(rank)]
    new = [name for name in left if ranks[name].seen is None]
    known = sorted((name for name in left if ranks[name].seen is not None), key=lambda name: ranks[name].tried)
    talkers = sorted(known, key=lambda name: -_heard(ranks[name]))[:_TALKERS]
    ordered = [*new, *talkers, *(name for name in known if name not in talkers)]
    if _is_answered(ranks.values(), since):
        looked = sum(rank.tried >= since for rank in ranks.values())
        ordered = ordered[: max(len(new), SAMPLE - looked)]
    return tuple(ordered[:most])


def _is_answered(ranks: Iterable[Rank], since: float) -> bool:
    """Whether a rank that was looked at in this sweep has printed after its look before. A first look proves nothing of
    the kind."""
    return any(
        rank.seen is not None and rank.seen.heard >= since and rank.seen.heard > rank.seen.first for rank in ranks
    )


def _is_at_rest(rank: Rank) -> bool:
    return rank.seen is not None and math.isinf(rank.seen.looked)


def _heard(rank: Rank) -> float:
    return rank.seen.heard if rank.seen is not None else -math.inf
