"""Notes when running programs printed: a mark beside each log that has grown (`kube.log_marks`).

A program writes into its log itself, so nobody sees its lines come; but how long the log is, and when it was written to
last, can be looked at. Two looks a second order the lines of a gang's ranks as well as a person can follow them, and
cost a microsecond for each log. The same look bounds a log that has become too large (`log_bounds`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from paddock.kube.log_marks import MARK_BYTES, SUFFIX, read_marks, write_mark
from paddock.node.runtime.log_bounds import bound
from paddock.node.runtime.pod_files import open_for_writing, read_end
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records

LOOK_SECONDS = 0.5

_log = logging.getLogger(__name__)


class LogTimes:
    """`directory`: the node's. `list_running`: the containers that run now."""

    def __init__(self, directory: Path, list_running: Callable[[], Iterable[tuple[PodState, Run]]]) -> None:
        self._records = Records(directory)
        self._list_running = list_running
        self._sizes: dict[Path, int] = {}
        """Up to where each log is marked."""
        self._unbounded: set[Path] = set()
        """The logs of which nothing can be left out."""

    async def run(self) -> None:
        """Runs until cancelled; what was printed until then is marked."""
        try:
            while True:
                self.look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self.look()

    def look(self) -> None:
        """Marks each log that has grown since the last look, and once more those whose programs have ended."""
        running = {self._records.log_file(state, run) for state, run in self._list_running()}
        for log in (*self._sizes.keys() - running, *running):
            self._mark(log)
        self._unbounded &= running
        self._sizes = {log: self._sizes[log] for log in running if log in self._sizes}

    def _mark(self, log: Path) -> None:
        try:
            seen = log.lstat()
            if not stat.S_ISREG(seen.st_mode):
                return
            self._bound(log, seen)
            if log not in self._sizes:
                self._sizes[log] = _read_last(log)
            if seen.st_size <= self._sizes[log]:
                return
            file = open_for_writing(log.with_suffix(SUFFIX), os.O_APPEND)
            with os.fdopen(file, "wb") as writer:
                writer.write(write_mark(seen.st_size, seen.st_mtime))
            self._sizes[log] = seen.st_size
        except OSError:  # a full disk, a pod that was removed meanwhile: its lines have no times
            return

    def _bound(self, log: Path, seen: os.stat_result) -> None:
        """Once more for nothing: a file system that makes no holes makes none later."""
        if log in self._unbounded:
            return
        try:
            bound(log, seen)
        except OSError as error:
            self._unbounded.add(log)
            _log.warning("%s is too large, and cannot be bounded: %s", log, error)


def _read_last(log: Path) -> int:
    """Where the marks of an earlier process end."""
    try:
        marks = read_marks(read_end(log.with_suffix(SUFFIX), MARK_BYTES))
    except OSError:
        return 0
    return marks.offsets[-1] if len(marks) else 0
