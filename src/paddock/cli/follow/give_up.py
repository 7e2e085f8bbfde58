"""When `paddock run` gives up a job that restarts repeatedly: after three equal failures. Pure.

A manifest without `runPolicy.backoffLimit` has unlimited restarts, which suits a cluster whose nodes come and go. A
user at a terminal needs an end if the program always fails. So after the second equal failure `run` sets the limit in
the job, and the operator fails the job at the third one, with its cause and logs.
"""

from __future__ import annotations

from dataclasses import dataclass

from paddock.views.followed import FollowedJob, find_progress

FAILURES = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """One counted restart."""

    number: int
    kind: tuple[object, ...]
    """How the rank ended."""
    reached: tuple[int, int]
    """The last reported (epoch, step)."""


class RepeatedFailures:
    """The equal failures of a job in a row."""

    def __init__(self) -> None:
        self._alike: list[Failure] = []

    def add(self, view: FollowedJob) -> int | None:
        """The backoffLimit to set now, so that one more failure ends the job; None for no change."""
        failure = read_failure(view)
        if failure is None or view.job.policies.backoff_limit is not None:
            return None
        last = self._alike[-1] if self._alike else None
        if last and last.number == failure.number:
            return None
        self._alike = [*self._alike, failure] if last and is_alike(last, failure) else [failure]
        return failure.number if len(self._alike) == FAILURES - 1 else None


def read_failure(view: FollowedJob) -> Failure | None:
    """The failure that the job restarts after; None without a restart."""
    cause = view.status.cause
    if cause is None or cause.reason not in ("RankRestarted", "SilentRestarted"):
        return None
    progress = find_progress(view)
    reached = (progress.epoch or 0, progress.step or 0) if progress else (0, 0)
    kind = (cause.reason, *(cause.args.get(name) for name in ("code", "memory", "server")))
    return Failure(int(cause.args.get("restart") or 0), kind, reached)


def is_alike(before: Failure, after: Failure) -> bool:
    """The same end without progress: a job that resumes from a checkpoint does progress."""
    return before.kind == after.kind and after.reached <= before.reached
