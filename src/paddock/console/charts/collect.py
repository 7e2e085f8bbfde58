"""The numbers in the logs of a job's ranks, as far as they were read: a page waits for a part of a second, never for a
gigabyte. What was read is kept beside the index of each log, so the next look reads on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from paddock.console.backend import KeptLog, KeptRun, Logs
from paddock.console.charts.curves import RankAttempt
from paddock.console.charts.numbers import LogNumbers, read_numbers
from paddock.history.log_shelf import OpenLog
from paddock.kube.log_marks import Marks

READING_SECONDS = 0.2
_PIECES = 4
"""Of what is written on purpose, for one look."""
_NOTE = "numbers"
_FIRST_ROLES = {"master": 0, "chief": 0, "launcher": 0, "worker": 1}


@dataclass(slots=True)
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: LogNumbers = field(default_factory=LogNumbers)


@dataclass(frozen=True, slots=True)
class Collected:
    """The numbers of some logs. Fewer lines are read than there are while a long log is being read."""

    logs: dict[RankAttempt, LogNumbers]
    read: int
    """Lines that were read."""
    lines: int
    """Lines that there are."""
    marks: Mapping[RankAttempt, Marks] = field(default_factory=dict)
    """When lines were printed, of the logs of which somebody noted it, if that was asked for."""


def list_ranks(logs: Sequence[KeptLog]) -> list[str]:
    """Rank 0 first: the master, then workers, then other roles."""
    order = {log.rank: (_FIRST_ROLES.get(log.role.lower(), 2), log.role, log.index) for log in logs}
    return sorted(order, key=order.__getitem__)


def collect(
    source: Logs, run: KeptRun, ranks: Sequence[str], seconds: float = READING_SECONDS, *, times: bool = False
) -> Collected:
    """The numbers of these ranks, in their order and that of their attempts. `times`: with their marks. Blocks, so it
    belongs into a thread."""
    logs = run.logs
    newest = max((log.attempt for log in logs), default=0)
    wanted = [log for log in logs if log.rank in ranks]
    wanted.sort(key=lambda log: (ranks.index(log.rank), log.attempt))
    found: dict[RankAttempt, LogNumbers] = {}
    marks: dict[RankAttempt, Marks] = {}
    read = lines = 0
    ends: list[float] = []

    def is_over() -> bool:
        """Since the first line was read: an index of a long log is made before it."""
        ends.append(time.monotonic() + seconds) if not ends else None
        return time.monotonic() > ends[0]

    for log in wanted:
        try:
            with source.open(log) as opened:
                numbers, count = _read(opened, log, not run.over and log.attempt == newest, is_over)
                seen = opened.read_marks() if times else Marks()
        except OSError:  # pruned since it was listed
            continue
        found[RankAttempt(log.rank, log.attempt)] = numbers
        if len(seen):
            marks[RankAttempt(log.rank, log.attempt)] = seen
        read, lines = read + min(count, numbers.read), lines + count
    return Collected(found, read, lines, marks)


def read_written(numbers: LogNumbers, log: KeptLog) -> None:
    """What the rank has added to PADDOCK_METRICS since the last look, a few pieces of it."""
    for _ in range(_PIECES):
        piece = log.read_written(numbers.written) if log.read_written is not None else None
        if piece is None or not (piece.data or piece.anew):
            return
        numbers.add_written(piece)


def _read(opened: OpenLog, log: KeptLog, grows: bool, is_over: Callable[[], bool]) -> tuple[LogNumbers, int]:
    """The second: lines that have ended. The last line of a log that grows may be half a line. The numbers are those of
    this moment: another reader's look goes on in a thread of its own, while these are drawn."""
    kept = opened.notes.setdefault(_NOTE, _Kept())
    assert isinstance(kept, _Kept)
    count = opened.count - (grows and opened.index.is_open)
    with kept.lock:
        read_numbers(kept.numbers, partial(opened.index.walk, opened.file), count, is_over)
        if grows and kept.numbers.read >= count:
            kept.numbers.measure(time.monotonic())
        read_written(kept.numbers, log)
        return kept.numbers.copy(), count
