"""How long a new gang waits: 10 s at first, doubled each time, at most 5 min (Kubernetes' Job).

The recorded cause holds the delay and its start, so no process has to remember them.
"""

from __future__ import annotations

from paddock.jobs.model import Phase, Status
from paddock.kube.times import Moment

FIRST_DELAY = 10
LONGEST_DELAY = 300


def restart_delay(number: int) -> int:
    """Seconds before the new gang after end number `number`, counted from 1."""
    doublings = max(0, min(number - 1, 10))
    return min(LONGEST_DELAY, FIRST_DELAY << doublings)


def delay_left(status: Status, now: Moment) -> float:
    """Seconds until the pods of the recorded attempt may be created; 0 when they may."""
    cause = status.cause
    if status.phase is not Phase.RESTARTING or cause is None or cause.since is None:
        return 0.0
    delay = cause.args.get("delay", 0)
    seconds = delay if isinstance(delay, int | float) else 0
    if cause.since - now > LONGEST_DELAY:
        return 0.0
    return left_until(cause.since + seconds, now)


def left_until(moment: Moment, now: Moment) -> float:
    """Seconds; 0 where they are more than any delay has: a clock that was set back must not delay a restart for
    hours."""
    left = moment - now
    return min(max(0.0, left), float(LONGEST_DELAY)) if left <= 2 * LONGEST_DELAY else 0.0
