"""How far the trainings of this machine are: what the first rank that tells it prints, writes or posts.

The operator asks for the gang of a job (`read`); from then on the logs and the files of PADDOCK_METRICS of its first
ranks are read on, each for what it has grown. What was posted (`app.trainer_reports`) wins over what was written, and
that over printed lines. What is told of a gang changes once in `TOLD_SECONDS`, as each change is a write of the job's
status; a gang that ends is told as it stands.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from paddock.app.home import Home
from paddock.app.running_logs import RunningLogs
from paddock.app.written_metrics import find_file, read_on
from paddock.jobs.model import Job, JobProgress, Pod
from paddock.jobs.progress import Track, join_progress, with_totals
from paddock.logs.metric_lines import MetricLines, Piece, Place
from paddock.logs.printed_lines import LineReader, may_have_progress
from paddock.logs.progress import Progress, merge

LOOK_SECONDS = 5.0
TOLD_SECONDS = 30.0
MOST_RANKS = 4
"""Of a gang that are looked at: its first ones. Programs print on the first or the last rank, or on all."""
_A_LOOK = 32 * 1024
"""Bytes of a file that are read at once, the last ones of what was added: less than for charts, as only the last lines
tell how far it is."""
_AT_THE_END = 16 * 1024
"""The same where a gang ends."""
_KEPT_SECONDS = 600.0
_MOST_LINES, _MOST_HEADS = 40, 10
"""Of one look. To read a line takes a tenth of a millisecond, and the operator may wait for it."""
_LINE_END = re.compile(rb"[\r\n]+")


class Rank(NamedTuple):
    """One of the ranks of a gang that are looked at."""

    pod: str
    """UID."""
    metrics: Path
    """What it writes by PADDOCK_METRICS; need not be there."""


class Gang(NamedTuple):
    """Of whom the operator asks."""

    job: str
    """UID."""
    attempt: int


class Posted(Protocol):
    """What programs have posted."""

    def read(self, uid: str, attempt: int) -> JobProgress | None: ...

    def forget(self, uid: str) -> None: ...


class PrintedLines:
    """The lines of one log, read on."""

    def __init__(self) -> None:
        self._place, self._held = Place(), b""
        self._reader, self._last = LineReader(), Progress()
        self.track = Track()

    def look(self, path: Path, at: float, most: int = _A_LOOK) -> None:
        piece = read_on(path, self._place, most)
        self._place = piece.place
        if not piece.data:
            return
        # A bar that redraws itself ends its states with a carriage return.
        *lines, held = _LINE_END.split(piece.data if piece.anew else self._held + piece.data)
        self._held = held[-most:]
        texts = [line.decode("utf-8", "replace") for line in (lines[1:] if _begins_within(piece) else lines)]
        for text in choose_lines(texts, self._reader):
            if (found := self._reader.read(text)) is not None:
                self._last = merge(self._last, found)
                self.track = self.track.read(self._last, at)


def choose_lines(lines: Sequence[str], reader: LineReader) -> list[str]:
    """The last ones that may have a number, as an earlier one tells nothing more of how far it is; and before these the
    last ones that say what numbers mean (`Epoch 3/10`). Pure."""
    readable = [line for line in lines if reader.may_read(line)]
    before, last = readable[:-_MOST_LINES], readable[-_MOST_LINES:]
    return [line for line in before if not may_have_progress(line)][-_MOST_HEADS:] + last


class WrittenLines:
    """The lines of one file of PADDOCK_METRICS, read on."""

    def __init__(self) -> None:
        self._place, self._lines, self._last = Place(), MetricLines(), Progress()
        self.track = Track()

    def look(self, path: Path, at: float, most: int = _A_LOOK) -> None:
        piece = read_on(path, self._place, most)
        begins = self._place.offset == 0 and not piece.anew
        self._place = piece.place
        if not piece.data:
            return
        if piece.anew:
            self._lines = MetricLines()
            if _begins_within(piece):
                self._lines.skip()
        for found in self._lines.feed(cut_lines(piece.data, whole=begins)):
            self._last = merge(self._last, with_totals(found))
            self.track = self.track.read(self._last, at)


def _begins_within(piece: Piece) -> bool:
    """Whether it may begin within a line, which is then lost: what lay before it was passed by."""
    return piece.anew and piece.place.offset > len(piece.data)


def cut_lines(data: bytes, *, whole: bool) -> bytes:
    """The last lines, as an earlier one tells nothing more of how far the training is. `whole`: the data begin with a
    line, which otherwise goes on. Pure."""
    parts = data.split(b"\n")
    if len(parts) <= _MOST_LINES + 1:
        return data
    last = parts[-_MOST_LINES - 1 :]
    return b"\n".join(last if whole else [parts[0], *last])


@dataclass(slots=True)
class _Looked:
    """What is known of one rank. A container that was started again has another `log`, and is another program."""

    log: Path
    printed: PrintedLines = field(default_factory=PrintedLines)
    written: WrittenLines = field(default_factory=WrittenLines)

    def look(self, metrics: Path, at: float, most: int = _A_LOOK) -> None:
        self.printed.look(self.log, at, most)
        self.written.look(metrics, at, most)

    @property
    def progress(self) -> JobProgress | None:
        return join_progress(self.printed.track.progress, self.written.track.progress)


@dataclass(slots=True)
class _Followed:
    """A gang that was asked for."""

    ranks: tuple[Rank, ...]
    asked: float
    looked: dict[str, _Looked] = field(default_factory=dict)
    told: tuple[float, JobProgress | None] | None = None


class JobProgresses:
    """`read` may be called by any thread, all else by that of the event loop."""

    def __init__(
        self,
        logs: RunningLogs,
        home: Home,
        posted: Posted,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logs, self._home, self._posted = logs, home, posted
        self._clock = clock
        self._lock = threading.Lock()
        self._gangs: dict[Gang, _Followed] = {}

    async def run(self) -> None:
        """Looks until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def read(self, job: Job, attempt: int, pods: Sequence[Pod]) -> JobProgress | None:
        """How far the gang of these pods is: of its ranks that train (`operator.readings.Programs`)."""
        trains = {role.name for role in job.roles if role.trains}
        ranks = [
            Rank(pod.uid, find_file(self._home, *job.key, job.uid, str(pod.rank), attempt))
            for pod in sorted(pods, key=lambda pod: job.number_of(pod.rank))
            if pod.rank.role in trains and pod.uid
        ]
        return self.read_gang(Gang(job.uid, attempt), tuple(ranks[:MOST_RANKS]), ends=any(pod.ended for pod in pods))

    def read_gang(self, gang: Gang, ranks: tuple[Rank, ...], *, ends: bool) -> JobProgress | None:
        """How far the gang is; None where nothing tells. `ranks`: those that train, in their order. `ends`: a program
        of it has ended, so what it has printed last is read now."""
        with self._lock:
            now = self._clock()
            if (followed := self._gangs.get(gang)) is None:
                # An attempt follows another one.
                self._gangs = {each: there for each, there in self._gangs.items() if each.job != gang.job}
                followed = self._gangs[gang] = _Followed((), now)
            followed.ranks, followed.asked = ranks, now
            self._find_logs(followed)
            if ends:
                self._look_at_end(followed, now)
            if ends or followed.told is None or now - followed.told[0] >= TOLD_SECONDS:
                self._tell(gang, followed, now)
            return followed.told[1] if followed.told is not None else None

    def _tell(self, gang: Gang, followed: _Followed, now: float) -> None:
        """Remembers what is told, and since when it is."""
        found = join_progress(_choose(followed), self._posted.read(*gang))
        if followed.told is None and found is None:
            return
        if followed.told is None or found != followed.told[1]:
            followed.told = (now, found)

    def _find_logs(self, followed: _Followed) -> None:
        """Of ranks that were not looked at yet: a program may end before that."""
        for rank in followed.ranks:
            if rank.pod not in followed.looked and (log := self._logs.find_only(rank.pod)) is not None:
                followed.looked[rank.pod] = _Looked(log)

    def _look_at_end(self, followed: _Followed, now: float) -> None:
        for rank in followed.ranks:
            if (looked := followed.looked.get(rank.pod)) is not None:
                looked.look(rank.metrics, now, _AT_THE_END)

    async def look(self) -> None:
        """Looks at the ranks of the gangs that were asked for; forgets the others."""
        self._forget()
        with self._lock:
            wanted = {rank.pod for followed in self._gangs.values() for rank in followed.ranks}
        logs = await self._logs.find(wanted)
        await asyncio.to_thread(self._look, logs)

    def _forget(self) -> None:
        with self._lock:
            old = self._clock() - _KEPT_SECONDS
            gone = [gang for gang, followed in self._gangs.items() if followed.asked < old]
            for gang in gone:
                del self._gangs[gang]
        for gang in gone:
            self._posted.forget(gang.job)

    def _look(self, logs: Mapping[str, Path]) -> None:
        with self._lock:
            followed = list(self._gangs.values())
        for each in followed:
            for rank in each.ranks:
                if rank.pod in logs:
                    with self._lock:
                        self._look_at(each, rank, logs[rank.pod])

    def _look_at(self, followed: _Followed, rank: Rank, log: Path) -> None:
        looked = followed.looked.get(rank.pod)
        if looked is None or looked.log != log:
            looked = followed.looked[rank.pod] = _Looked(log)
        looked.look(rank.metrics, self._clock())


def _choose(followed: _Followed) -> JobProgress | None:
    """Of the ranks of a gang, in their order, the first that tells a percentage, else the first that tells anything."""
    told = [followed.looked[rank.pod].progress for rank in followed.ranks if rank.pod in followed.looked]
    found = [each for each in told if each is not None]
    return next((each for each in found if each.percent is not None), found[0] if found else None)
