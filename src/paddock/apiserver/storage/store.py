"""The object store: one SQLite file, written by the event loop with group commits.

A write is a function over a `Transaction`. All writes requested in one turn of the loop run in one SQL transaction,
each in its own savepoint, and return after COMMIT: an acknowledged write survives `kill -9`. Reads happen between the
groups and never see half of one, so no thread and no lock is needed.

Rule: a write function does not await, and touches nothing but its transaction. Bodies are returned as stored, as JSON
bytes. `hub` selects the watchers of a change; `objects.strategy` has the semantics of a write.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from paddock.apiserver.storage.changelog import KEPT_BYTES, KEPT_CHANGES, Changelog
from paddock.apiserver.storage.damage import Damaged, set_aside
from paddock.apiserver.storage.failures import explain_failure, is_full, roll_back
from paddock.apiserver.storage.mark import check_content, check_file, mark_path, write_mark
from paddock.apiserver.storage.records import Change, Stored
from paddock.apiserver.storage.room import Room, overwriting_nothing
from paddock.apiserver.storage.transaction import (
    COLUMNS,
    Companion,
    Transaction,
    read_one,
    run_in_savepoint,
    run_with_companions,
)
from paddock.kube.errors import InternalError, Unavailable

log = logging.getLogger(__name__)
T = TypeVar("T")

# After a crash of the machine the last commits may be missing (synchronous=NORMAL).
# Each start skips this many resourceVersions, so that no number is issued twice.
RESTART_GAP = 1_000
_FORMAT = 1

# `objects` keeps its rowid: without it, 10,000 pods took 64 MiB and not 40 (measured).
_SCHEMA = """
create table objects(
    resource text not null, namespace text not null, name text not null, uid text not null, rv integer not null,
    version text not null, body blob not null);
create unique index objects_key on objects(resource, namespace, name);
create index objects_uid on objects(uid);
create index objects_namespace on objects(namespace);
create table changes(
    rv integer primary key, resource text not null, namespace text not null, name text not null, type text not null,
    version text not null, previous integer, body blob not null);
create index changes_resource on changes(resource, rv);
create table owners(
    owner text, resource text, namespace text, name text,
    primary key (owner, resource, namespace, name)) without rowid;
create table meta(key text primary key, value text not null) without rowid;
"""
_MOST_VALUES = 500
"""Of one SQL statement."""


class _Write(NamedTuple):
    action: Callable[[Transaction], Any]
    future: asyncio.Future[Any]
    frees: bool


class Store:
    """`open` creates or opens the file; `InternalError` or `Unavailable` says why it cannot be used."""

    def __init__(self, path: Path, *, kept_changes: int = KEPT_CHANGES, kept_bytes: int = KEPT_BYTES) -> None:
        self.path = path
        self.revision = 0
        self.damaged: list[Damaged] = []
        """Objects that could not be read, and were set aside."""
        self._damaged_uids: set[str] = set()
        self.changelog = Changelog(path, kept=kept_changes, kept_bytes=kept_bytes)
        self.room = Room(path)
        self._pending: list[_Write] = []
        self._listeners: list[Callable[[list[Change]], None]] = []
        self._companions: list[Companion] = []
        self._db: sqlite3.Connection | None = None

    @property
    def db(self) -> sqlite3.Connection:
        if self._db is None:
            raise Unavailable("the embedded cluster is stopping; start it again with `paddock up`")
        return self._db

    def open(self) -> None:
        try:
            self._open_with_reserve()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise explain_failure(error, self.path) from error
        except BaseException:
            self.close()
            raise

    def _open_with_reserve(self) -> None:
        try:
            self._open()
        except sqlite3.Error as error:
            # A kill left SQLite's log, whose pages the store has to take in.
            self.close()
            if not is_full(error) or not (size := self.room.release()):
                raise
            self._open()
            self.room.retake(size)

    def _open(self) -> None:
        check_file(self.path)
        # SQLite itself would create the file with the mode of the umask, which may let others read it.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0.5)
        # Before the first read: else SQLite makes a file of shared memory, for which a full disk has no room.
        db.execute("pragma locking_mode=exclusive")
        (found,) = db.execute("pragma user_version").fetchone()
        has_tables = check_content(self.path, db) if found in (0, _FORMAT) else True
        # The operating system releases the exclusive lock with the process, so a crash leaves no stale lock.
        db.executescript(
            # 8 KiB pages made inserts of pods faster than 4 KiB (77,000 and 56,000 a second, measured).
            # synchronous=NORMAL survives `kill -9` and commits 7 times as fast as FULL (15,000 and 2,100 a second).
            "pragma page_size=8192; pragma auto_vacuum=incremental;"
            "pragma journal_mode=wal; pragma synchronous=normal; pragma cache_size=-4096;"
            # What a savepoint may have to undo: a file of it would lie outside the cluster's directory.
            "pragma temp_store=memory;"
        )
        if not has_tables:
            db.executescript(f"begin; {_SCHEMA} pragma user_version={_FORMAT}; commit;")
        elif found != _FORMAT:
            raise InternalError(
                f"{self.path} was written by another version of Paddock (format {found}, this one reads {_FORMAT}):"
                " run that version, or move the file away to start with an empty cluster"
            )
        self.damaged = set_aside(db, self.path, RESTART_GAP)
        self._damaged_uids = {one.uid for one in self.damaged}
        self.changelog.open(db)
        self.room.look(db)
        (highest,) = db.execute("select coalesce(max(rv), 0) from changes").fetchone()
        (newest,) = db.execute("select coalesce(max(rv), 0) from objects").fetchone()
        last = max(highest, newest, self.changelog.compacted)
        self.revision = last + RESTART_GAP if last else 1

    def close(self) -> None:
        if self._db is not None:
            if self._pending:
                self._flush()
            self.changelog.close()
            self._db.close()
            self._db = None

    def listen(self, listener: Callable[[list[Change]], None]) -> None:
        """`listener` gets the changes of each committed group, in order. It must be quick; exceptions are logged."""
        self._listeners.append(listener)

    def accompany(self, companion: Companion) -> None:
        """`companion` sees the changes of each write before they are committed: what it writes belongs to the same
        write, and what it raises undoes that. It must be quick."""
        self._companions.append(companion)

    # Reads

    def setting(self, key: str) -> str | None:
        row = self.db.execute("select value from meta where key=?", (key,)).fetchone()
        return row[0] if row else None

    def get(self, resource: str, namespace: str, name: str) -> Stored | None:
        return read_one(self.db, resource, namespace, name)

    def find(self, uid: str) -> Stored | None:
        row = self.db.execute(f"select {COLUMNS} from objects where uid=?", (uid,)).fetchone()  # noqa: S608
        return Stored(*row) if row else None

    def is_damaged(self, uid: str) -> bool:
        """Whether the object with this UID was set aside: it is not gone."""
        return uid in self._damaged_uids

    def mark(self, since: str) -> None:
        """Leaves a mark beside the store that it has content, unless there is one. `since`: when the cluster began."""
        uid = self.setting("cluster_uid")
        if uid is not None and not mark_path(self.path).exists():
            # What the mark tells must have come to the disk before it.
            self.db.execute("pragma wal_checkpoint(truncate)").fetchall()
            write_mark(self.path, uid, since)

    def select(
        self, resource: str, namespace: str = "", *, name: str = "", after: tuple[str, str] | None = None
    ) -> Iterator[Stored]:
        """The objects of a resource, ordered by (namespace, name), from after the key `after` on. Exhaust or drop the
        iterator before the next await: it is an open SQL cursor."""
        where, values = ["resource=?"], [resource]
        if namespace:
            where.append("namespace=?")
            values.append(namespace)
        if name:
            where.append("name=?")
            values.append(name)
        if after is not None and namespace and after[0] == namespace:
            # SQLite finds this place in its index; beside an equal namespace it would read every row up to the pair.
            where.append("name > ?")
            values.append(after[1])
        elif after is not None:
            where.append("(namespace, name) > (?, ?)")
            values.extend(after)
        rows = self.db.execute(
            f"select {COLUMNS} from objects where {' and '.join(where)} order by namespace, name",  # noqa: S608
            values,
        )
        return (Stored(*row) for row in rows)

    def count(self, resource: str, namespace: str = "", after: tuple[str, str] = ("", "")) -> int:
        where = "resource=? and (?='' or namespace=?) and (namespace, name) > (?, ?)"
        row = self.db.execute(
            f"select count(*) from objects where {where}",  # noqa: S608
            (resource, namespace, namespace, *after),
        ).fetchone()
        return int(row[0])

    def inside(self, namespace: str) -> list[Stored]:
        """All objects in a namespace, of every resource."""
        rows = self.db.execute(f"select {COLUMNS} from objects where namespace=?", (namespace,))  # noqa: S608
        return [Stored(*row) for row in rows]

    def dependents(self, uid: str) -> list[Stored]:
        """The objects that name `uid` in their ownerReferences."""
        columns = ", ".join(f"objects.{column}" for column in COLUMNS.split(", "))
        rows = self.db.execute(
            f"select {columns} from owners join objects using (resource, namespace, name) where owner=?",  # noqa: S608
            (uid,),
        )
        return [Stored(*row) for row in rows]

    def dependent_keys(self, uid: str) -> list[tuple[str, str, str]]:
        """The resource, namespace and name of each dependent."""
        return self.db.execute("select resource, namespace, name from owners where owner=?", (uid,)).fetchall()

    def going_keys(self, uids: Sequence[str]) -> list[tuple[str, str, str]]:
        """The resource, namespace and name of those of the objects that are being deleted, as far as their bytes
        tell."""
        found: list[tuple[str, str, str]] = []
        for first in range(0, len(uids), _MOST_VALUES):
            part = uids[first : first + _MOST_VALUES]
            places = ",".join("?" * len(part))
            found += self.db.execute(
                f"select resource, namespace, name from objects where uid in ({places})"  # noqa: S608
                " and instr(body, cast('\"deletionTimestamp\"' as blob))",
                part,
            )
        return found

    def unfinished(self) -> list[Stored]:
        """Work that garbage collection left at a crash: objects being deleted, and objects whose owner is gone."""
        rows = self.db.execute(
            f"select {COLUMNS} from objects where instr(body, cast('\"deletionTimestamp\"' as blob))"  # noqa: S608
            " or (resource, namespace, name) in (select resource, namespace, name from owners"
            " where owner not in (select uid from objects))"
        )
        return [Stored(*row) for row in rows]

    def versions(self, resource: str) -> list[tuple[str, int]]:
        """The UID and resourceVersion of each object of a resource."""
        rows = self.db.execute("select uid, rv from objects where resource=? order by namespace, name", (resource,))
        return rows.fetchall()

    def changes_since(self, resource: str, rv: int, until: int | None = None) -> Iterator[Change]:
        """The committed changes after `rv`, up to `until`. Raises `Expired` if some of them are compacted. Exhaust or
        drop the iterator before the next await: it is an open SQL cursor."""
        return self.changelog.since(self.db, resource, rv, until)

    # Writes

    async def write(self, action: Callable[[Transaction], T], *, frees: bool = False) -> T:
        """Runs `action` in the next group and returns its result once committed. An exception rolls back this action
        only. A full or read-only disk raises `Unavailable` and leaves the store unchanged. `frees`: a deletion, which
        may use the reserve of a full disk. `action` may run twice, as a group that does not fit is rolled back and
        tried again: it changes nothing but its transaction."""
        self.db  # noqa: B018 - refuses when closed
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if not self._pending:
            # All writers of this turn share one commit: with 32 of them a write takes 30 us and not 49 (measured).
            loop.call_soon(self._flush)
        self._pending.append(_Write(action, future, frees))
        try:
            return await future
        finally:
            # A future that holds an exception, whose traceback holds this frame, would keep the whole request alive
            # until the garbage collection of Python finds the circle.
            del future

    def write_now(self, action: Callable[[Transaction], T]) -> T:
        """Runs and commits `action` immediately: for initialization, before requests are served."""
        transaction = Transaction(self.db, self.revision)
        self.db.execute("begin immediate")
        try:
            result = run_with_companions(transaction, action, self._companions)
            self.db.execute("commit")
        except sqlite3.Error as error:
            roll_back(self.db, self.path)
            raise explain_failure(error, self.path) from error
        except BaseException:
            self.db.execute("rollback")
            raise
        self._committed(transaction)
        return result

    def _flush(self) -> None:
        if not self._pending or self._db is None:
            return
        db, (pending, self._pending) = self._db, (self._pending, [])
        try:
            self._commit(db, pending)
        except sqlite3.Error as error:
            if is_full(error):
                self._flush_full(db, pending, error)
            else:
                self._refuse(pending, error)
        if self.room.look(db) and self.changelog.is_worth_cutting:
            # Before it is full: what was deleted is room for others, whose files are no pages of the store.
            with overwriting_nothing(db):
                self.changelog.cut()

    def _commit(self, db: sqlite3.Connection, writes: Sequence[_Write]) -> None:
        """Commits one group. Raises `sqlite3.Error` with the store unchanged."""
        transaction = Transaction(db, self.revision)
        try:
            db.execute("begin immediate")
            results = [run_in_savepoint(db, transaction, write.action, self._companions) for write in writes]
            db.execute("commit")
        except sqlite3.Error:
            roll_back(db, self.path)
            raise
        # Futures resume their writers in the next turn of the loop, after the listeners below.
        for write, result in zip(writes, results, strict=True):
            if write.future.cancelled():
                continue
            if isinstance(result, BaseException):
                write.future.set_exception(result)
            else:
                write.future.set_result(result)
        self._committed(transaction)

    def _flush_full(self, db: sqlite3.Connection, pending: Sequence[_Write], error: sqlite3.Error) -> None:
        """The group did not fit: the history of changes gives way, deletions use the reserve, and what else there is
        is tried only where that leaves the reserve as it was."""
        freeing = [write for write in pending if write.frees]
        others = [write for write in pending if not write.frees]
        if not freeing and not self.changelog.is_worth_cutting:
            self._refuse(pending, error)
            return
        reserve = self.room.release()
        with overwriting_nothing(db):
            self.changelog.cut()
            self._try(db, freeing)
            self.changelog.give_back()
        if self.room.retake(reserve):
            self._try(db, others)
        else:
            self._refuse(others, error)

    def _try(self, db: sqlite3.Connection, writes: Sequence[_Write]) -> None:
        if not writes:
            return
        try:
            self._commit(db, writes)
        except sqlite3.Error as error:
            self._refuse(writes, error)

    def _refuse(self, writes: Sequence[_Write], error: sqlite3.Error) -> None:
        if not writes:
            return
        reason = explain_failure(error, self.path)
        log.error("%s", reason.message)
        for write in writes:
            if not write.future.cancelled():
                write.future.set_exception(reason)

    def _committed(self, transaction: Transaction) -> None:
        self.revision = transaction.revision
        if not transaction.changes:
            return
        self.changelog.count_committed(transaction.changes)
        for listener in self._listeners:
            try:
                listener(transaction.changes)
            except Exception:
                # The group is committed: neither its writers nor the other listeners may fail because of this one.
                log.exception("a listener of the store failed")
        for change in transaction.changes:
            change.forget()
