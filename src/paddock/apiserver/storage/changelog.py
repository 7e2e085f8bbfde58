"""The changelog that watches resume from, and its compaction.

The changelog is bounded by number and by bytes. Compaction starts at twice the limit and deletes one batch per step;
then a vacuum returns free pages to the file system. Rule: `compacted` is written in the transaction that deletes, and a
watch from below it gets `Expired`, never an incomplete list. `store.Transaction` writes the changes.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from paddock.apiserver.storage.failures import explain_failure, roll_back
from paddock.apiserver.storage.records import Change
from paddock.kube.errors import Expired

log = logging.getLogger(__name__)

KEPT_CHANGES = 5_000
"""How many changes a watcher may be behind before it must list again; compaction starts at twice as many."""
# A limit of the number alone would not do, because one object may have 3 MiB.
KEPT_BYTES = 32 * 1024 * 1024
"""The same limit in bytes of bodies; the first limit reached counts."""
# One DELETE of 9,000 changes stops the event loop, and all requests, for 75 to 103 ms (measured).
BATCH = 400
_BATCH_BYTES = 8 * 1024 * 1024
_SPARE_PAGES = 1_024
"""Free pages that stay in the file for the next writes: 8 MiB."""
_VACUUM_PAGES = 256
_WORTH_BYTES = 256 * 1024
_GIVEN_STEP, _GIVEN_BACK = 32, 512
"""Pages, of a step and in all, that are given back at once on a full disk: 4 MiB."""
_PAUSE_SECONDS = 0.02
_LAST = 2**63 - 1


class Compaction(NamedTuple):
    """The changes to delete: up to resourceVersion `last`, with their number and bytes."""

    last: int
    changes: int
    bytes: int


def plan_compaction(oldest: Iterable[tuple[int, int]], count: int, size: int) -> Compaction:
    """One batch of `oldest`, (resourceVersion, bytes) pairs: it ends when `count` changes and `size` bytes, the excess,
    are covered, or when the batch is large enough."""
    compaction = Compaction(0, 0, 0)
    for rv, length in oldest:
        if compaction.bytes >= _BATCH_BYTES or (compaction.changes >= count and compaction.bytes >= size):
            break
        compaction = Compaction(rv, compaction.changes + 1, compaction.bytes + length)
    return compaction


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

    def since(self, db: sqlite3.Connection, resource: str, rv: int, until: int | None = None) -> Iterator[Change]:
        """The committed changes after `rv`, up to `until`. Raises `Expired` if some of them are compacted."""
        if rv < self.compacted:
            raise Expired(f"too old resource version: {rv} ({self.compacted})")
        rows = db.execute(
            "select c.type, c.resource, c.namespace, c.name, c.rv, c.version, c.body, p.body, c.previous is not null"
            " from changes c left join changes p on p.rv = c.previous where c.resource=? and c.rv>? and c.rv<=?"
            " order by c.rv",
            (resource, rv, _LAST if until is None else until),
        )
        return (Change(*row) for row in rows)

    def count_committed(self, changes: Sequence[Change]) -> None:
        """Counts committed changes, and starts compaction at twice the limit."""
        self._count += len(changes)
        self._bytes += sum(len(change.body) for change in changes)
        if self._timer is None and (self._count > 2 * self._kept or self._bytes > 2 * self._kept_bytes):
            self._schedule(0, self._compact)

    @property
    def is_worth_cutting(self) -> bool:
        """Whether the changelog holds room that matters on a full disk. It bounds how often that is tried."""
        return self._bytes >= _WORTH_BYTES

    def cut(self) -> None:
        """On a full disk: drops the whole changelog, so all watches that resume list again. Failures are logged."""
        db = self._db
        if db is None or not self._count:
            return
        try:
            db.execute("begin immediate")
            (last,) = db.execute("select max(rv) from changes").fetchone()
            # Without a condition SQLite frees the pages of the table as a whole: its log stays short.
            db.execute("delete from changes")
            db.execute("insert or replace into meta values('compacted_rv', ?)", (str(last),))
            db.execute("commit")
        except sqlite3.Error as error:
            roll_back(db, self._path)
            log.warning("the changelog was not cut: %s", explain_failure(error, self._path).message)
            return
        self.compacted, self._count, self._bytes = last, 0, 0
        self.give_back()

    def give_back(self) -> None:
        """Returns free pages to a full disk, a few at a time: SQLite moves others into their places, which takes room
        in its log. Failures are logged."""
        db = self._db
        if db is None:
            return
        try:
            db.execute("pragma wal_checkpoint(truncate)").fetchall()
            for _ in range(_GIVEN_BACK // _GIVEN_STEP):
                (spare,) = db.execute("pragma freelist_count").fetchone()
                if not spare:
                    break
                db.executescript(f"pragma incremental_vacuum({_GIVEN_STEP})")
                db.execute("pragma wal_checkpoint(truncate)").fetchall()
        except sqlite3.Error as error:
            roll_back(db, self._path)
            log.warning("free pages were not given back: %s", explain_failure(error, self._path).message)

    def _schedule(self, seconds: float, step: Callable[[sqlite3.Connection], bool]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._run_step, step)

    def _run_step(self, step: Callable[[sqlite3.Connection], bool]) -> None:
        """Runs one step, and schedules the next one while there is more to do."""
        self._timer = None
        db = self._db
        if db is None:
            return
        try:
            more = step(db)
        except sqlite3.Error as error:
            # The next committed change tries again; until then the changelog is only longer than it should be.
            roll_back(db, self._path)
            log.warning("the changelog was not cut: %s", explain_failure(error, self._path).message)
            return
        if more:
            self._schedule(_PAUSE_SECONDS, step)
        elif step == self._compact:
            self._schedule(_PAUSE_SECONDS, self._shrink)

    def _compact(self, db: sqlite3.Connection) -> bool:
        oldest = db.execute("select rv, length(body) from changes order by rv limit ?", (BATCH,)).fetchall()
        compaction = plan_compaction(oldest, self._count - self._kept, self._bytes - self._kept_bytes)
        if not compaction.changes:
            return False
        db.execute("begin immediate")
        db.execute("delete from changes where rv<=?", (compaction.last,))
        # A crash between two transactions would let a watch resume from changes that are gone.
        db.execute("insert or replace into meta values('compacted_rv', ?)", (str(compaction.last),))
        db.execute("commit")
        self.compacted = compaction.last
        self._count -= compaction.changes
        self._bytes -= compaction.bytes
        return self._count > self._kept or self._bytes > self._kept_bytes

    def _shrink(self, db: sqlite3.Connection) -> bool:
        (spare,) = db.execute("pragma freelist_count").fetchone()
        pages = min(_VACUUM_PAGES, spare - _SPARE_PAGES)
        if pages > 0:
            # The pragma frees one page per sqlite3_step: `execute` does one step only, `executescript` all.
            db.executescript(f"pragma incremental_vacuum({pages})")
        return bool(pages == _VACUUM_PAGES)
