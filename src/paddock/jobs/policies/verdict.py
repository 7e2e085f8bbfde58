"""What a policy may decide: the gang is recreated, the job ends, or the job is suspended; or one of these, but later.

A verdict changes what `Status.decisive` covers, so it is recorded alone and acted on at the next reconcile. Only a
verdict changes the two numbers: an attempt only grows, and a restart is counted only where the program was at fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddock.jobs.causes import Cause
from paddock.jobs.model import Phase, Status, Suspect
from paddock.kube.times import Moment

_AHEAD = 60.0
"""Seconds. A time that lies further in the future is that of a clock which has been set back since."""

LOOK_AGAIN = 60.0
"""Seconds until the next look at a clock that jumped (`Observed.clock_off`)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is recorded: each field that is None leaves what the `Status` has."""

    phase: Phase
    cause: Cause
    attempt: int | None = None  # the number of the new gang, if there is one
    at_fault: bool = False  # the program failed, so it counts as a restart
    losses: int | None = None
    renewals: Mapping[str, int] | None = None  # None in a new gang: it has none
    size: int | None = None  # the new `Status.gang_size`
    suspects: Mapping[str, Suspect] | None = None  # the new `Status.suspects`


@dataclass(frozen=True, slots=True)
class Wait:
    """A verdict that is not due yet."""

    cause: Cause  # is recorded; its `since` is the start of the wait
    left: float  # seconds


def noticed(status: Status, cause: type[Cause], now: Moment) -> Moment | None:
    """Since when the recorded wait for this cause lasts; None if there is none, and the wait begins now."""
    recorded = status.cause
    if recorded is None or recorded.reason != cause.__name__ or recorded.since is None:
        return None
    return None if recorded.since - now > _AHEAD else recorded.since


def plan_completion(cause: Cause) -> Verdict:
    return Verdict(Phase.COMPLETED, cause)


def plan_failure(cause: Cause) -> Verdict:
    return Verdict(Phase.FAILED, cause)


def plan_new_gang(
    cause: Cause, attempt: int, *, at_fault: bool = False, losses: int | None = None, size: int | None = None
) -> Verdict:
    """Ends the gang of `attempt`; the next one follows. `at_fault`: the program failed, so it counts as a restart."""
    return Verdict(Phase.RESTARTING, cause, attempt + 1, at_fault, losses, size=size)
