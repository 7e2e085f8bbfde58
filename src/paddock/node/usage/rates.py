"""What was spent since the last look -> cores; and when to look. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paddock.kube.times import Moment
from paddock.kube.usage import Usage

SECONDS = 5.0
"""Between two looks at a run."""
YOUNG_SECONDS, YOUNG_AGE = 1.0, 15.0
"""The same in the first seconds of a run: one that lasts some seconds alone has a curve, too."""
NODE_SECONDS = 15.0
"""Between two looks at the node while nothing runs: metrics-server's resolution."""
_SHORTEST = 0.25


@dataclass(frozen=True, slots=True)
class Reading:
    """What was used at one moment."""

    at: Moment  # the moment
    cpu: float  # seconds spent so far
    memory: float  # bytes


def measure(before: Reading | None, after: Reading) -> Usage | None:
    """None without an earlier reading, and where too little time lies between the two. Processes that end without being
    waited for take their time with them, so a sum may fall: that counts as nothing spent."""
    if before is None or after.at - before.at < _SHORTEST:
        return None
    window = after.at - before.at
    return Usage(after.at, window, max(0.0, after.cpu - before.cpu) / window, after.memory)


def begin(started: Moment, now: Moment) -> Reading | None:
    """The reading of a run before it had done anything; None for one that an earlier daemon started, of which an
    average over hours would be told."""
    return Reading(started, 0.0, 0.0) if now - started <= YOUNG_AGE else None


def is_due(last: Moment, started: Iterable[Moment], now: Moment) -> bool:
    """Whether to look now. `started`: of the runs that go on."""
    ages = [now - each for each in started]
    pause = NODE_SECONDS if not ages else YOUNG_SECONDS if min(ages) < YOUNG_AGE else SECONDS
    # A clock that was set back would stop all looks for as long.
    return not last <= now < last + pause - 0.1
