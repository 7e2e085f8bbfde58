"""What a policy may decide: that the gang is made anew, that the job ends, that it stands still. Nothing else.

A verdict changes what `Status.decisive` covers, so it is recorded alone and acted on in the next pass. The numbers of
the new status follow from it here and nowhere else: an attempt only grows, and a restart is counted only where the
program was at fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from paddock.jobs.causes import Cause
from paddock.jobs.model import Phase


@dataclass(frozen=True, slots=True)
class Verdict:
    """`phase` is what is recorded, with `cause`; `attempt` the gang's new number if it gets one."""

    phase: Phase
    cause: Cause
    attempt: int | None = None
    at_fault: bool = False


def plan_completion(cause: Cause) -> Verdict:
    return Verdict(Phase.COMPLETED, cause)


def plan_failure(cause: Cause) -> Verdict:
    return Verdict(Phase.FAILED, cause)


def plan_new_gang(cause: Cause, attempt: int, *, at_fault: bool = False) -> Verdict:
    """The gang of `attempt` ends and the next is made. `at_fault`: it was the program, so it counts as a restart."""
    return Verdict(Phase.RESTARTING, cause, attempt + 1, at_fault)
