"""The changes that a watcher may still ask for: how many are kept, and how the older ones go.

They are bounded by number and by bytes, as an object may have 3 MiB. Cutting begins at twice what is kept and goes a
slice at a time, so that nobody waits for it; then the file gives back what it no longer needs. The rule a reader must
not break: `compacted` is written in the transaction that cuts, and who asks below it is told `Expired`, never half.
Changes are written by `store.Transaction`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from paddock.apiserver.failures import explain_failure, roll_back
from paddock.apiserver.records import Change
from paddock.kube.errors import Expired

log = logging.getLogger(__name__)

KEPT_CHANGES = 5_000
"""How many changes a watcher may be behind before it must list again; cutting starts at twice as many."""
KEPT_BYTES = 32 * 1024 * 1024
"""The same in bytes of bodies, whichever is reached first."""
SLICE = 400
_SLICE_BYTES = 8 * 1024 * 1024
_SPARE_PAGES = 1_024
"""Empty pages that the file keeps for the next writes: 8 MiB."""
_SLICE_PAGES = 256
_PAUSE = 0.02


class Cut(NamedTuple):
    """How far the oldest changes go: the last resourceVersion, and how many changes and bytes that are."""

    last: int
    changes: int
    bytes: int


def plan_cut(oldest: Iterable[tuple[int, int]], count: int, size: int) -> Cut:
    """One slice of the (resourceVersion, bytes) of the oldest changes: until `count` changes too many and `size` bytes
    too many are gone, or the slice is large enough."""
    cut = Cut(0, 0, 0)
    for rv, length in oldest:
        if cut.bytes >= _SLICE_BYTES or (cut.changes >= count and cut.bytes >= size):
            break
        cut = Cut(rv, cut.changes + 1, cut.bytes + length)
    return cut


class Changelog:
    def __init__(self, path: Path, *, kept: int = KEPT_CHANGES, kept_bytes: int = KEPT_BYTES) -> None:
        self.compacted = 0
        self._path = path
        self._kept = kept
        self._kept_bytes = kept_bytes
        self._count = 0
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._db: sqlite3.Connection | None = None

    def open(self, db: sqlite3.Connection) -> None:
        self._db = db
        row = db.execute("select value from meta where key='compacted_rv'").fetchone()
        self.compacted = int(row[0]) if row else 0
        self._count, self._bytes = db.execute("select count(*), coalesce(sum(length(body)), 0) from changes").fetchone()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._db = None

    def since(self, db: sqlite3.Connection, resource: str, rv: int) -> list[Change]:
        """The committed changes above `rv`. `Expired` where the changelog no longer reaches back so far."""
        if rv < self.compacted:
            raise Expired(f"too old resource version: {rv} ({self.compacted})")
        rows = db.execute(
            "select c.type, c.resource, c.namespace, c.name, c.rv, c.version, c.body, p.body, c.previous is not null"
            " from changes c left join changes p on p.rv = c.previous where c.resource=? and c.rv>? order by c.rv",
            (resource, rv),
        )
        return [Change(*row) for row in rows]

    def note(self, changes: Sequence[Change]) -> None:
        """Counts what was committed, and begins to cut when it has become too much."""
        self._count += len(changes)
        self._bytes += sum(len(change.body) for change in changes)
        if self._timer is None and (self._count > 2 * self._kept or self._bytes > 2 * self._kept_bytes):
            self._later(0, self._compact)

    def _later(self, seconds: float, step: Callable[[sqlite3.Connection], bool]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._take, step)

    def _take(self, step: Callable[[sqlite3.Connection], bool]) -> None:
        """One step, and the next one a little later while there is more to do."""
        self._timer = None
        db = self._db
        if db is None:
            return
        try:
            more = step(db)
        except sqlite3.Error as error:
            roll_back(db, self._path)
            log.warning("the changelog was not cut: %s", explain_failure(error, self._path).message)
            return
        if more:
            self._later(_PAUSE, step)
        elif step == self._compact:
            self._later(_PAUSE, self._shrink)

    def _compact(self, db: sqlite3.Connection) -> bool:
        oldest = db.execute("select rv, length(body) from changes order by rv limit ?", (SLICE,)).fetchall()
        cut = plan_cut(oldest, self._count - self._kept, self._bytes - self._kept_bytes)
        if not cut.changes:
            return False
        db.execute("begin immediate")
        db.execute("delete from changes where rv<=?", (cut.last,))
        db.execute("insert or replace into meta values('compacted_rv', ?)", (str(cut.last),))
        db.execute("commit")
        self.compacted = cut.last
        self._count -= cut.changes
        self._bytes -= cut.bytes
        return self._count > self._kept or self._bytes > self._kept_bytes

    def _shrink(self, db: sqlite3.Connection) -> bool:
        (spare,) = db.execute("pragma freelist_count").fetchone()
        pages = min(_SLICE_PAGES, spare - _SPARE_PAGES)
        if pages > 0:
            # It frees a page at each step; `execute` takes only the first one, `executescript` takes all.
            db.executescript(f"pragma incremental_vacuum({pages})")
        return bool(pages == _SLICE_PAGES)
