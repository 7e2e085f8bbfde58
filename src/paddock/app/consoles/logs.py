"""The logs of the local cluster's jobs, for its console: those that the node wrote, found by the history's records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from paddock.app.history import History, list_sizes, read_cause
from paddock.app.written_metrics import build_reader, find_file
from paddock.console.backend import KeptLog, KeptRun, LeftOut
from paddock.history.log_shelf import OpenLog, Shelf
from paddock.history.log_times import read_marks
from paddock.history.logs import LogFile
from paddock.history.record_shelf import RecordShelf
from paddock.history.records import RunRecord
from paddock.jobs.model import CauseRecord, Phase
from paddock.kube.meta import Resource
from paddock.logs.metric_lines import Piece, Place
from paddock.node.runtime.pod_files import open_regular

_FRESH_SECONDS = 1.0
"""How long what was found is found: each pane of a page asks again."""
_MOST_ASKED = 64


class LocalLogs:
    """One reader's, as a laptop has one. `clock`: seconds that only grow. `read_left_out`: where logs are copies, what
    the one at a path lacks. `records`: the shelf of others who read them too."""

    def __init__(
        self,
        history: History,
        clock: Callable[[], float] = time.monotonic,
        read_left_out: Callable[[Path], LeftOut | None] = lambda _: None,
        records: RecordShelf | None = None,
    ) -> None:
        self._history, self._clock, self._read_left_out = history, clock, read_left_out
        self._records = records or RecordShelf(history.home.history)
        self._shelf = Shelf()
        self._asked: dict[tuple[Resource, str, str, str], tuple[float, KeptRun | None]] = {}

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        key = (resource, namespace, name, uid)
        at, found = self._asked.get(key, (-_FRESH_SECONDS, None))
        if self._clock() - at >= _FRESH_SECONDS:
            found = await asyncio.to_thread(self._find, *key)
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            self._asked[key] = (self._clock(), found)
        return found

    def open(self, log: KeptLog) -> AbstractContextManager[OpenLog]:
        path = Path(log.id)
        return self._shelf.open(log.id, lambda: open_regular(path), partial(read_marks, path))

    def _find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        runs = [each for each in self._records.read(namespace, name)[0] if _is_of(each, resource)]
        run = next((each for each in reversed(runs) if uid in ("", each.uid)), None)
        if run is None and not uid:
            return None
        files = self._history.find_job_logs(namespace, name, run.uid if run else uid)
        if run is None:
            return KeptRun(self._read_files(files, namespace, name, uid))
        return self.read_run(run, files)

    def read_run(self, run: RunRecord, files: Sequence[LogFile]) -> KeptRun:
        """A recorded run with these logs. Blocks."""
        logs = self._read_files(files, run.namespace, run.name, run.uid)
        begun = {each.number: each.begun for each in run.attempts}
        steps = {each.number: (each.placed, each.started) for each in run.attempts}
        failed, causes = find_failed(run), find_causes(run)
        return KeptRun(logs, failed, run.over, run.logs_pruned, causes, begun, list_sizes(run), steps)

    def _read_files(self, files: Sequence[LogFile], namespace: str, name: str, uid: str) -> tuple[KeptLog, ...]:
        return tuple(
            replace(
                _read_file(each, self._read_left_out(each.path)),
                read_written=self._find_written(namespace, name, uid, each),
            )
            for each in files
        )

    def _find_written(self, namespace: str, name: str, uid: str, file: LogFile) -> Callable[[Place], Piece]:
        return build_reader(find_file(self._history.home, namespace, name, uid, file.rank, file.place.attempt))


def _is_of(run: RunRecord, resource: Resource) -> bool:
    return (run.api_version, run.kind) == (resource.api_version, resource.kind)


def _read_file(file: LogFile, left_out: LeftOut | None) -> KeptLog:
    place = file.place
    return KeptLog(str(file.path), place.role, place.index, place.attempt, file.size, file.modified, left_out)


def find_failed(run: RunRecord) -> Mapping[int, str]:
    """The rank that failed first, by attempt: named by the cause of the next attempt, or of the run. Pure."""
    failed = {each.number - 1: each.cause.rank if each.cause else "" for each in run.attempts}
    failed[run.attempt] = run.failed if _has_failed(run) else ""
    return {attempt: rank for attempt, rank in failed.items() if rank}


def _has_failed(run: RunRecord) -> bool:
    """Whether the run's cause is of its last attempt: of one that restarts it is of the attempt before, unless a rank
    is started again alone. In other phases a cause names a rank that something waits for."""
    is_alone = run.cause is not None and bool(run.cause.args.get("alone"))
    return run.phase == Phase.FAILED or (run.phase == Phase.RESTARTING and is_alone)


def find_causes(run: RunRecord) -> Mapping[int, CauseRecord]:
    """Why each attempt after the first was started. Pure."""
    causes = {each.number: read_cause(each.cause) for each in run.attempts}
    return {attempt: cause for attempt, cause in causes.items() if cause}
