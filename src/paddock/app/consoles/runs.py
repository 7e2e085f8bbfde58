"""The runs that this machine keeps, for its console: their records and notes, and the metrics in their logs.

Records are read when a page asks; the metrics of a run are in its logs, which may be of gigabytes, so they are read
behind the page, one run after another, and kept for as long as the console goes on.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from paddock.app.consoles.logs import LocalLogs
from paddock.app.history import History, Survey
from paddock.console.backend import Extent, KeptRun, RunList
from paddock.console.charts.collect import collect, list_ranks
from paddock.console.charts.numbers import LogNumbers
from paddock.history.note_files import choose_note, write_note
from paddock.history.notes import Note
from paddock.history.record_shelf import RecordShelf
from paddock.history.records import Damaged, RunRecord
from paddock.history.surroundings import Packages

FRESH_SECONDS = 10.0
LONGEST_SECONDS = 5.0
"""Of reading the logs of one run: of a log that takes longer only the last numbers are shown, as the best may be in
what was not read."""
_MOST_RUNS = 2_000
_Extents = Mapping[str, Extent]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the logs of a run said."""

    extents: _Extents
    at: float
    over: bool
    """They were read when the run was over."""
    final: bool
    """They were read when its ranks could print no more (`RunRecord.settled`)."""


class LocalRuns:
    """A `console.backend.Runs`. `clock`: seconds that only grow."""

    def __init__(
        self, history: History, logs: LocalLogs, records: RecordShelf, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._history, self._logs, self._shelf, self._clock = history, logs, records, clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._wanted: list[RunRecord] = []
        self._current = ""  # the UID of the run that is being read
        self._reading: asyncio.Task[None] | None = None

    async def read(self, namespace: str = "", name: str = "") -> RunList:
        return await asyncio.to_thread(self._read, namespace, name)

    def _read(self, namespace: str, name: str) -> RunList:
        records, damaged = self._shelf.read(namespace, name)
        notes = self._history.read_notes(namespace, name)
        broken = [each for each in notes.values() if isinstance(each, Damaged)]
        runs = tuple((each, choose_note(each, notes.get(each.uid))) for each in records)
        return RunList(runs, (*damaged, *broken))

    def read_packages(self, digest: str) -> Packages | None:
        return self._history.read_packages(digest)

    async def write_note(self, run: RunRecord, note: Note, seen: str) -> None:
        await asyncio.to_thread(write_note, self._history.home.history, run, note, seen)

    # Metrics

    def look(self, runs: Iterable[RunRecord]) -> Mapping[str, _Extents]:
        listed = list(runs)
        self._wanted = [run for run in listed if run.uid != self._current and self._is_stale(run)]
        if self._wanted and not self.reading:
            self._reading = asyncio.create_task(self._read_wanted())
        return {run.uid: self._known[run.uid].extents for run in listed if run.uid in self._known}

    @property
    def reading(self) -> bool:
        return self._reading is not None and not self._reading.done()

    def _is_stale(self, run: RunRecord) -> bool:
        known = self._known.get(run.uid)
        if known is None or known.final:
            return known is None
        return known.over != run.over or self._clock() - known.at >= FRESH_SECONDS

    async def _read_wanted(self) -> None:
        """One after another: the page of somebody who opens a log goes before. The directories of logs are listed once
        for all of them, as there may be ten thousand."""
        survey = self._history.survey()
        while self._wanted:
            run = self._wanted.pop(0)
            self._current = run.uid
            try:
                extents = await asyncio.to_thread(self._read_run, survey, run)
            except OSError:  # pruned since; what cannot be read is not shown
                extents = {}
            finally:
                self._current = ""
            self._known[run.uid] = _Known(extents, self._clock(), run.over, run.settled)
            self._known.move_to_end(run.uid)
            while len(self._known) > _MOST_RUNS:
                self._known.popitem(last=False)

    def _read_run(self, survey: Survey, run: RunRecord) -> _Extents:
        kept = self._logs.read_run(run, survey.find_logs(run))
        return self._measure(kept) if kept.logs else {}

    def _measure(self, kept: KeptRun) -> _Extents:
        """Of rank 0; empty where its logs are not read to their ends in time. A log that was pruned since is left out.
        What was read is kept beside the log, for its charts too."""
        ranks, end = list_ranks(kept.logs)[:1], time.monotonic() + LONGEST_SECONDS
        while True:
            found = collect(self._logs, kept, ranks)
            if found.read >= found.lines:
                return measure(found.logs.values())
            if time.monotonic() > end:
                return {}


def measure(logs: Iterable[LogNumbers]) -> _Extents:
    """By the name of the metric, of the logs of one rank by attempt. Pure."""
    found: dict[str, Extent] = {}
    for log in logs:
        for name, series in log.series.items():
            numbers = [value for value in series.values if math.isfinite(value)]
            before = found.get(name)
            known = [each for each in (before.lowest, before.highest) if each is not None] if before else []
            both = [*numbers, *known]
            found[name] = Extent(series.values[-1], min(both, default=None), max(both, default=None))
    return found
