"""The ranks of one attempt of a job as a page shows them: by their pods, and by what is kept of those without one.

The order is that of the page of logs (`logs.lanes.arrange`): the rank that failed first is the first, and ranks that
only lost a peer are folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddock.console.backend import KeptLog, KeptRun
from paddock.console.logs.attempts import find_culprits
from paddock.console.logs.lanes import Lane, Lanes
from paddock.console.logs.look import Look, look
from paddock.console.page_context import PageContext
from paddock.jobs.model import Phase, Rank, Status
from paddock.kube.times import Moment
from paddock.views.kept_ranks import ENDED, FAILED, KeptRank, build_kept_rows, find_end
from paddock.views.ranks import JobPod, RankRow, build_rank_rows
from paddock.views.stored import StoredJob
from paddock.words.phrases import Foreign, phrase

_LONGEST = 300
"""Characters of an error."""


@dataclass(frozen=True, slots=True)
class RankTable:
    """The ranks of one attempt."""

    attempt: int
    attempts: tuple[int, ...]
    """All of which ranks can be shown, oldest first."""
    rows: tuple[RankRow, ...] = ()
    echoes: tuple[RankRow, ...] = ()
    """Folded, with their count: they only lost a peer."""
    first: Lane | None = None
    """The log of the rank that failed first."""


async def build_rank_table(
    page: PageContext, stored: StoredJob, pods: Sequence[JobPod], run: KeptRun, at: int | None
) -> RankTable:
    """`at`: the attempt that is asked for; None for the last one that has pods, or else that has printed something."""
    status = stored.status
    rows = build_rank_rows(stored.job, status, pods, stored.uid, page.language)
    if at is None and any(row.pod and not row.old for row in rows):
        at = status.attempt
    seen = await _look(page, status, run, at, rows)
    shown = seen.attempt if seen else status.attempt
    if shown == status.attempt:
        rows = [*rows, *_list_kept(run, status, shown, {row.rank for row in rows if row.pod})]
        kept = {row.rank for row in rows if row.state}
        rows = [row for row in rows if row.pod or row.state or row.rank not in kept]  # one row for each rank
    else:
        rows = [replace(row, old=False) for row in rows if row.pod and row.attempt == shown]
        rows += _list_kept(run, status, shown, {row.rank for row in rows})
    table = arrange_rows(rows, seen.lanes if seen else Lanes())
    return replace(table, attempt=shown, attempts=seen.attempts if seen else (shown,))


async def build_gone_table(page: PageContext, run: KeptRun, at: int | None) -> RankTable:
    """The ranks of a job that was deleted, by what is kept of them; `at` as of `build_rank_table`."""
    if page.backend.logs is None:
        return RankTable(0, ())
    has_failed = bool(run.failed)
    seen = await look(page.backend.logs(page.identity), run, at, None, (), {}, (), errors=has_failed)
    status = Status(phase=Phase.FAILED, attempt=max(seen.attempts, default=0))  # it is over, whatever it came to
    table = arrange_rows(_list_kept(run, status, seen.attempt, set()), seen.lanes)
    return replace(table, attempt=seen.attempt, attempts=seen.attempts)


def arrange_rows(rows: Sequence[RankRow], lanes: Lanes) -> RankTable:
    """The rows in the order of `lanes`, where a rank is known to have failed first; else as they are. Rows of earlier
    pods stay last. Pure."""
    first = next((lane for lane in lanes.open if lane.is_first), None)
    if first is None:
        return RankTable(0, (), tuple(rows))
    places = {lane.rank: place for place, lane in enumerate((*lanes.open, *lanes.rest))}
    folded = {lane.rank for lane in lanes.echoes}
    echoes = tuple(row for row in rows if row.rank in folded and not row.old)
    others = [_tell_error(row, first) for row in rows if row.rank not in folded or row.old]
    others.sort(key=lambda row: (row.old, row.rank != first.rank, places.get(row.rank, len(places))))
    return RankTable(0, (), tuple(others), echoes, first)


def _tell_error(row: RankRow, first: Lane) -> RankRow:
    """The rank that failed first, of which nobody recorded how, with the error of its log."""
    if row.rank != first.rank or row.state != ENDED or first.error is None:
        return row
    return replace(row, state=FAILED, said=phrase("{said}", said=Foreign(first.error.text[:_LONGEST])))


async def _look(
    page: PageContext, status: Status, run: KeptRun, at: int | None, rows: Sequence[RankRow]
) -> Look | None:
    """The logs, of which first errors are read only where a rank has failed. None where nobody keeps logs."""
    if page.backend.logs is None:
        return None
    failed = find_culprits(status)
    has_failed = bool({**run.failed, **failed}) or any(row.pod and row.pod.state == "Error" for row in rows)
    return await look(page.backend.logs(page.identity), run, at, status.attempt, (), failed, (), errors=has_failed)


def _list_kept(run: KeptRun, status: Status, attempt: int, held: set[str]) -> list[RankRow]:
    kept = [_read_kept(log) for log in run.logs if log.attempt == attempt]
    return build_kept_rows(kept, status, find_end(status, attempt, run.causes), _find_begin(run, attempt), held)


def _read_kept(log: KeptLog) -> KeptRank:
    return KeptRank(Rank(log.role, log.index), log.attempt, log.modified)


def _find_begin(run: KeptRun, attempt: int) -> Moment | None:
    return run.steps.get(attempt, (None, None))[1]
