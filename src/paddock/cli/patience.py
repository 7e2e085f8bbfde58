"""When `paddock run` gives a job up that starts again and again: after three failures alike. Pure.

A manifest without `runPolicy.backoffLimit` sets no limit to restarts, which suits a fleet where nodes come and go. Who
waits before a terminal wants to hear of a program that always fails. So after the second failure alike `run` sets the
limit in the job, and the operator ends it with the third: the job stays, Failed, with its cause and its logs.
"""

from __future__ import annotations

from dataclasses import dataclass

from paddock.cli.display import View, lead

FAILURES = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """One counted restart. `kind`: how the rank ended; `reached`: how far the job had come, as (epoch, step)."""

    number: int
    kind: tuple[object, ...]
    reached: tuple[int, int]


class Patience:
    """Looks at each view of a job; remembers its failures."""

    def __init__(self) -> None:
        self._alike: list[Failure] = []

    def note(self, view: View) -> int | None:
        """The backoffLimit to set now, so that one more failure ends the job; None to go on as it is."""
        failure = read_failure(view)
        if failure is None or view.job.policies.backoff_limit is not None:
            return None
        last = self._alike[-1] if self._alike else None
        if last and last.number == failure.number:
            return None
        self._alike = [*self._alike, failure] if last and is_alike(last, failure) else [failure]
        return failure.number if len(self._alike) == FAILURES - 1 else None


def read_failure(view: View) -> Failure | None:
    """The failure that the job starts again from, if it does."""
    cause = view.status.cause
    if cause is None or cause.reason != "RankRestarted":
        return None
    progress = lead(view)
    reached = (progress.epoch or 0, progress.step or 0) if progress else (0, 0)
    kind = tuple(cause.args.get(name) for name in ("code", "memory", "server"))
    return Failure(int(cause.args.get("restart") or 0), kind, reached)


def is_alike(before: Failure, after: Failure) -> bool:
    """The same end, and the job had come no further: one that resumes from a checkpoint makes its way."""
    return before.kind == after.kind and after.reached <= before.reached
