"""Records that were read and may be read again: a file that is as it was is not decoded a second time.

A page that is looked at asks for all runs every few seconds, and ten thousand records take two seconds to decode. The
keeper replaces a file when it changes, so its number, size and time tell whether it is the same. Used from threads.
"""

from __future__ import annotations

import threading
from pathlib import Path

from paddock.history.records import Damaged, RunRecord, list_directories, read_record

MOST = 2_000
"""Records that are kept in memory; what is beyond is read each time."""
_State = tuple[int, int, int]


class RecordShelf:
    """Of one directory of records."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[Path, tuple[_State, RunRecord]] = {}
        self._lock = threading.Lock()

    def read(self, namespace: str = "", name: str = "") -> tuple[list[RunRecord], list[Damaged]]:
        """The runs, oldest first, and what is damaged: of all namespaces, of one, or of one name."""
        with self._lock:
            found = [self._read(path) for path in self._list(namespace, name)]
            if not namespace:
                self._drop_gone({path for path, _ in found})
        runs = [each for _, each in found if isinstance(each, RunRecord)]
        runs.sort(key=lambda run: (run.created, run.run))
        return runs, [each for _, each in found if isinstance(each, Damaged)]

    def _list(self, namespace: str, name: str) -> list[Path]:
        return [
            path
            for where in list_directories(self._directory, namespace, name)
            for path in sorted(where.glob("*.json"))
        ]

    def _read(self, path: Path) -> tuple[Path, RunRecord | Damaged]:
        state = _look(path)
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return path, known[1]
        record = read_record(path)
        if isinstance(record, RunRecord) and state is not None and (path in self._known or len(self._known) < MOST):
            self._known[path] = (state, record)
        else:
            self._known.pop(path, None)
        return path, record

    def _drop_gone(self, there: set[Path]) -> None:
        for path in self._known.keys() - there:
            del self._known[path]


def _look(path: Path) -> _State | None:
    """Of the file before it is read: one that is replaced meanwhile is read once more."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
