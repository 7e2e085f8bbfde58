"""One look at a job's logs: of the attempt that is asked for, its lanes, and the lines of one of them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from paddock.console.backend import KeptLog, KeptRun, Logs
from paddock.console.logs.attempts import choose_attempt, list_printed
from paddock.console.logs.errors import find_error
from paddock.console.logs.lanes import Lane, Lanes, arrange, list_lanes
from paddock.console.logs.times import read_times
from paddock.console.logs.wanted import Wanted
from paddock.history.log_index import Line
from paddock.history.log_search import Searched, Span, search, search_apart
from paddock.history.log_shelf import OpenLog
from paddock.jobs.model import CauseRecord, Rank
from paddock.kube.times import Moment

ERROR_SECONDS, QUIET_SECONDS = 0.25, 0.1
"""For the first errors of all ranks where one failed, and where none did: then they are not what the page waits for. A
log that was not come to is looked through at the next look."""
SEARCH_SECONDS = 3.0
MOST_LOGS = 400
"""Logs that one search looks into."""
AT_ONCE = 100
"""Logs that are open at once for one page."""
_LEAST_SECONDS = 0.05
"""For the last logs of a search whose time is over: what was not searched is said."""
MOST_APART = 4
"""Searches that have a process of their own at once: a reader may ask for many, and a pod has memory for some."""
_MOST_USERS = 4
"""Pages that hold files open at once: a process has 1,024 in many places, and needs some for its readers."""
_USERS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_APART: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Look:
    """What is shown of the logs of a job."""

    lanes: Lanes
    attempt: int  # the one that is shown
    attempts: tuple[int, ...]  # all that there are
    is_over: bool  # it prints nothing more
    is_pruned: bool = False
    is_live: bool = False  # the job goes on, if not in this attempt
    newest: int = 0  # the last attempt of which a rank has printed something, or the one that is shown
    begun: Moment | None = None  # when it was first seen
    cause: CauseRecord | None = None  # why it was started; None of the first one

    @property
    def last(self) -> int:
        """The job's last attempt, which may have printed nothing yet."""
        return self.attempts[-1] if self.attempts else 0


async def look(
    logs: Logs,
    run: KeptRun,
    attempt: int | None,
    current: int | None,
    ranks: Iterable[Rank],
    failed: Mapping[int, str],
    chosen: Sequence[str],
    errors: bool = True,
) -> Look:
    """`attempt`: None for the one of `choose_attempt`. `current`: the job's own last attempt, which may have printed
    nothing yet; None of a job that is gone. `ranks`: all that this attempt has. `failed`: as `KeptRun.failed`, with
    what the job's status says. `errors`: False for who wants the lines of one rank alone."""
    attempts = sorted({log.attempt for log in run.logs} | ({current} if current is not None else set()))
    last, printed = attempts[-1] if attempts else 0, list_printed(run.logs)
    shown = attempt if attempt is not None and attempt in attempts else choose_attempt(last, printed, run.over)
    is_over = run.over or shown != last
    lanes = list_lanes([log for log in run.logs if log.attempt == shown], ranks if shown == current else ())
    # What is recorded of a job may be older than its logs: an attempt that has only begun has lost no rank.
    found = {**run.failed, **failed}.get(shown, "") if is_over or shown in printed else ""
    if errors:
        lanes = await asyncio.to_thread(_read_errors, logs, lanes, found)
    return Look(
        arrange(lanes, found, chosen),
        shown,
        tuple(attempts),
        is_over,
        run.pruned,
        not run.over,
        max((*printed, shown)),
        run.begun.get(shown),
        run.causes.get(shown),
    )


def _read_errors(logs: Logs, lanes: Sequence[Lane], failed: str) -> list[Lane]:
    """Reads the errors of the rank that failed, then of the shortest logs: most of them are done in the time there
    is."""
    deadline = time.monotonic() + (ERROR_SECONDS if failed else QUIET_SECONDS)
    order = sorted(lanes, key=lambda lane: (lane.rank != failed, lane.log.size if lane.log else 0))
    read = {lane.rank: _read_error(logs, lane, deadline) for lane in order}
    return [read[lane.rank] for lane in lanes]


def _read_error(logs: Logs, lane: Lane, deadline: float) -> Lane:
    if lane.is_silent or lane.log is None or time.monotonic() > deadline:
        return lane
    try:
        with logs.open(lane.log) as log:
            return replace(lane, error=find_error(log, deadline))
    except OSError:
        return lane


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a log."""

    lines: Sequence[Line] = ()
    begin: int = 0  # the number of the first of them
    count: int = 0  # of all lines of the log
    lost: bool = False  # the log cannot be read any more
    times: Sequence[Moment | None] = ()  # when each was printed, where they were asked for


def read_part(logs: Logs, log: KeptLog | None, begin: int, count: int, timed: bool = False) -> Part:
    """`count` lines; a negative `begin` counts from the end. `timed`: with their times. In a thread."""
    if log is None:
        return Part()
    try:
        with logs.open(log) as opened:
            start = max(0, begin if begin >= 0 else opened.count + begin)
            lines = opened.read(start, count)
            return Part(lines, start, opened.count, times=_read_times(opened, lines) if timed else ())
    except OSError:
        return Part(lost=True)


def read_some(logs: Logs, log: KeptLog | None, numbers: Sequence[int], timed: bool = False) -> Part:
    """The lines of these numbers, which need not follow each other; otherwise as `read_part`."""
    if log is None:
        return Part()
    try:
        with logs.open(log) as opened:
            lines = [line for number in numbers for line in opened.read(number, 1)]
            return Part(lines, 0, opened.count, times=_read_times(opened, lines) if timed else ())
    except OSError:
        return Part(lost=True)


def _read_times(log: OpenLog, lines: Iterable[Line]) -> list[Moment | None]:
    return read_times(log, [line.number for line in lines])


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found in one log. `upto`: before this line all of it was searched."""

    lane: Lane
    numbers: Sequence[int] = ()  # of the lines
    lines: Sequence[Line] = ()  # none where `Search.reads` is false
    upto: int = 0
    count: int = 0

    @property
    def is_whole(self) -> bool:
        return self.upto >= self.count


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched, and where."""

    wanted: Wanted
    begin: int = 0  # a line number
    end: int | None = None  # a line number; None for the end of the log
    most: int = 50  # hits in each log
    last: bool = False  # the last hits are wanted, not the first
    reads: bool = True  # the lines are wanted, not their numbers alone
    seconds: float = field(default=SEARCH_SECONDS)


def use_files() -> asyncio.Semaphore:
    """What is held while up to `AT_ONCE` logs are open; nobody holds it twice."""
    return _USERS.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_MOST_USERS))


async def find(logs: Logs, lanes: Collection[Lane], what: Search) -> list[Hits]:
    """Searches each lane that has a log. Of those that need a process `MOST_APART` run at once. Raises
    `WrongPattern`."""
    pattern = what.wanted.compile()
    if what.wanted.is_linear:
        return await _find(logs, lanes, what, pattern)
    async with _APART.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_APART)):
        return await _find(logs, lanes, what, pattern)


async def _find(logs: Logs, lanes: Collection[Lane], what: Search, pattern: re.Pattern[bytes]) -> list[Hits]:
    """Some logs after the other: a search holds so many files open and no more, and so do all searches together."""
    deadline, chosen, hits = time.monotonic() + what.seconds, list(lanes)[:MOST_LOGS], list[Hits]()
    for begin in range(0, len(chosen), AT_ONCE):
        async with use_files():
            left = replace(what, seconds=max(_LEAST_SECONDS, deadline - time.monotonic()))
            hits += await _find_in(logs, chosen[begin : begin + AT_ONCE], left, pattern)
    return hits


async def _find_in(logs: Logs, lanes: Sequence[Lane], what: Search, pattern: re.Pattern[bytes]) -> list[Hits]:
    with ExitStack() as held:
        opened = []
        for lane in lanes:
            try:
                if lane.log is not None:
                    opened.append((lane, await asyncio.to_thread(held.enter_context, logs.open(lane.log))))
            except OSError:
                continue
        spans = [
            Span(log.file, min(what.begin, log.count), min(log.count, what.end or log.count), what.most, what.last)
            for _, log in opened
        ]
        if what.wanted.is_linear:
            deadline = time.monotonic() + what.seconds
            pairs = [(log.index, span) for (_, log), span in zip(opened, spans, strict=True)]
            hints = what.wanted.hints
            found = await asyncio.to_thread(
                lambda: [search(index, span, pattern, deadline, hints) for index, span in pairs]
            )
        else:
            found = await search_apart(spans, pattern, what.seconds)
        return await asyncio.to_thread(
            lambda: [
                Hits(lane, each.lines, _read_hits(log, each) if what.reads else (), each.upto, span.end)
                for (lane, log), span, each in zip(opened, spans, found, strict=True)
            ]
        )


def _read_hits(log: OpenLog, found: Searched) -> list[Line]:
    return [line for number in found.lines for line in log.read(number, 1)]
