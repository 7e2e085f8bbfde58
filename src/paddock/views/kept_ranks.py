"""The ranks of an attempt whose pods are gone, as rows: by what they printed, and by why the attempt ended. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from paddock.jobs.model import CauseRecord, Phase, Rank, Status
from paddock.jobs.sentences.cause_args import Args, items_of
from paddock.kube.times import Moment
from paddock.views.ranks import RankRow
from paddock.words.phrases import Foreign, Phrase, phrase

FAILED, COMPLETED, ENDED = "Error", "Completed", "Ended"
"""The state of such a row, as kubectl calls that of a pod; `Ended` where it is not known how."""


@dataclass(frozen=True, slots=True)
class KeptRank:
    """What is kept of a rank of one attempt."""

    rank: Rank
    attempt: int
    printed: Moment
    """When it printed last."""


def build_kept_rows(
    kept: Iterable[KeptRank],
    status: Status,
    end: CauseRecord | None,
    begun: Moment | None,
    held: Collection[str] = (),
) -> list[RankRow]:
    """The ranks of one attempt, in the order of `kept`. `end`: as of `find_end`; `begun`: when the programs of the
    attempt started; `held`: ranks that have a pod, and so a row already."""
    return [_build_row(each, status, end, begun) for each in kept if str(each.rank) not in held]


def find_end(status: Status, attempt: int, causes: Mapping[int, CauseRecord]) -> CauseRecord | None:
    """Why this attempt ended: the cause of the next one, or of the job's end; None while it goes on, or where nobody
    knows. `causes`: why each attempt was started."""
    if attempt < status.attempt:
        restarts = status.phase is Phase.RESTARTING and attempt == status.attempt - 1
        return causes.get(attempt + 1) or (status.cause if restarts else None)
    return status.cause if status.phase.terminal else None


def list_failed(end: CauseRecord | None) -> tuple[str, ...]:
    """The ranks that the end of an attempt names, the likeliest root cause first; none where no rank failed."""
    if end is None:
        return ()
    # Causes of another kind name ranks that were too late, or that something waited for.
    own = items_of(end.args, "ranks") if end.args.get("code") is not None and "succeeded" not in end.args else ()
    return items_of(end.args, "failed") or own


def _build_row(each: KeptRank, status: Status, end: CauseRecord | None, begun: Moment | None) -> RankRow:
    name = str(each.rank)
    state, said = _tell_end(each, status, end)
    return RankRow(name, None, each.attempt, begun=begun, ended=each.printed, state=state, said=said)


def _tell_end(each: KeptRank, status: Status, end: CauseRecord | None) -> tuple[str, Phrase | None]:
    name, failed = str(each.rank), list_failed(end)
    if end is not None and name in failed:
        return FAILED, _tell_failure(end.args) if name == failed[0] else None
    if end is not None and name in items_of(end.args, "echoes"):
        return FAILED, phrase("it failed as others had ended")
    is_last = each.attempt == status.attempt
    if is_last and (status.phase is Phase.COMPLETED or status.has_succeeded(each.rank)):
        return COMPLETED, None
    return (ENDED, None) if status.phase.terminal or not is_last else ("", None)


def _tell_failure(args: Args) -> Phrase | None:
    """In the words of the row of a pod (`views.pods`)."""
    code = args.get("code")
    end = phrase("exit code {code}", code=str(code)) if code is not None else None
    if args.get("memory") and end:
        return phrase("out of memory ({end})", end=end)
    error = str(args.get("error") or args.get("last") or args.get("message") or "")
    if error and end:
        return phrase("{error} ({end})", error=Foreign(error), end=end)
    return phrase("{said}", said=Foreign(error)) if error else end
