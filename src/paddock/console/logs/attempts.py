"""Which attempt of a job is shown where nobody asked for one, and which rank ended each. Pure.

The cause in a status is of one attempt: why the job failed is of the last one; why a new attempt begins is of the one
before it, which has the error that it speaks of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from paddock.console.backend import KeptLog
from paddock.jobs.causes import NEW_ATTEMPT_REASONS
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import CauseRecord, Phase, Status


def find_culprits(status: Status) -> Mapping[int, str]:
    """Attempt -> the rank of it that the status' cause says has failed. In other phases a cause names a rank that
    something waits for, or that was too late."""
    cause = status.cause
    has_failed = status.phase in (Phase.FAILED, Phase.RESTARTING) or has_failed_rank(status.phase, cause)
    ranks = (cause.args.get("failed") or cause.args.get("ranks")) if cause else None
    if cause is None or not has_failed or not isinstance(ranks, list | tuple) or not ranks:
        return {}
    return {find_attempt(cause, status.attempt): str(ranks[0])}


def find_attempt(cause: CauseRecord, attempt: int) -> int:
    """The attempt that a recorded cause speaks of, where `attempt` is the recorded one. Ranks that are started again
    alone stay in theirs (`jobs.causes.RankRestarted`)."""
    begins = cause.reason in NEW_ATTEMPT_REASONS and not cause.args.get("alone")
    return max(0, attempt - begins)


def list_printed(logs: Iterable[KeptLog]) -> frozenset[int]:
    """The attempts of which a rank has printed something; also where nothing of it is kept."""
    return frozenset(log.attempt for log in logs if log.size or _is_lost(log))


def _is_lost(log: KeptLog) -> bool:
    return log.left_out is not None and (log.left_out.removed or log.left_out.missed is not None)


def choose_attempt(last: int, printed: Collection[int], is_over: bool) -> int:
    """The attempt that is opened first: the last one, but until it has printed something the one before it that has,
    as that one has what the reader looks for. `is_over`: the last one prints nothing more."""
    return last if is_over or last in printed else max(printed, default=last)
