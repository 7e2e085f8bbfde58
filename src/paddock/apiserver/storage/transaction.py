"""The writes of one group of the store: objects, the history of changes, and the index of owners, together.

`store` begins and commits the group; each write runs in a savepoint of its own.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from paddock.apiserver.storage.records import Change, Stored
from paddock.kube.errors import InternalError, TooLarge
from paddock.kube.meta import Manifest, metadata

log = logging.getLogger(__name__)
T = TypeVar("T")

COLUMNS = "resource, namespace, name, uid, rv, version, body"
"""Of the table `objects`, in the order of `Stored`."""
MOST_BYTES = 3 * 1024 * 1024
"""Of one object as JSON: it can be sent in one request. Patches and defaults could make it larger. (Kubernetes' etcd
takes half of it.)"""


def read_one(db: sqlite3.Connection, resource: str, namespace: str, name: str) -> Stored | None:
    row = db.execute(
        f"select {COLUMNS} from objects where resource=? and namespace=? and name=?",  # noqa: S608
        (resource, namespace, name),
    ).fetchone()
    return Stored(*row) if row else None


class Transaction:
    """The writes of one group, from `revision` on. Reads of the store see these writes: there is only one
    connection."""

    def __init__(self, db: sqlite3.Connection, revision: int) -> None:
        self.revision = revision
        self.changes: list[Change] = []
        self._db = db

    def get(self, resource: str, namespace: str, name: str) -> Stored | None:
        return read_one(self._db, resource, namespace, name)

    def select(self, resource: str, namespace: str) -> Iterator[Stored]:
        """The objects of a resource in a namespace, by name. Exhaust it before the next write."""
        rows = self._db.execute(
            f"select {COLUMNS} from objects where resource=? and namespace=? order by name",  # noqa: S608
            (resource, namespace),
        )
        return (Stored(*row) for row in rows)

    def count(self, resource: str, namespace: str) -> int:
        row = self._db.execute(
            "select count(*) from objects where resource=? and namespace=?", (resource, namespace)
        ).fetchone()
        return int(row[0])

    def set(self, key: str, value: str) -> None:
        self._db.execute("insert or replace into meta values(?, ?)", (key, value))

    def put(self, resource: str, manifest: Manifest, previous: Stored | None) -> Stored:
        """Writes `manifest` with a new resourceVersion over `previous`, which was read in this transaction."""
        self.revision += 1
        meta = manifest["metadata"]
        meta["resourceVersion"] = str(self.revision)
        body = msgspec.json.encode(manifest)
        if len(body) > MOST_BYTES:
            raise TooLarge(f"Request entity too large: the object would have {len(body)} bytes, at most {MOST_BYTES}")
        stored = Stored(
            resource, str(meta.get("namespace") or ""), meta["name"], meta["uid"], self.revision,
            manifest["apiVersion"], body,
        )  # fmt: skip
        self._db.execute(
            "insert into objects values(?,?,?,?,?,?,?) on conflict(resource, namespace, name) do update set"
            " uid=excluded.uid, rv=excluded.rv, version=excluded.version, body=excluded.body",
            stored,
        )
        adopted, left = self._index_owners(stored, _owner_uids(manifest), previous)
        self._record_change("MODIFIED" if previous else "ADDED", stored, previous, adopted, left)
        return stored

    def delete(self, stored: Stored, last: Manifest | None = None) -> Stored:
        """Removes the object, which was read in this transaction. The change holds its last state, with the
        resourceVersion of the deletion: `last`, where an update ends it, which may change more of it by the way."""
        self.revision += 1
        manifest = stored.manifest() if last is None else last
        manifest["metadata"]["resourceVersion"] = str(self.revision)
        gone = stored._replace(rv=self.revision, body=msgspec.json.encode(manifest))
        self._db.execute(
            "delete from objects where resource=? and namespace=? and name=?",
            (stored.resource, stored.namespace, stored.name),
        )
        _, left = self._index_owners(gone, frozenset(), stored)
        self._record_change("DELETED", gone, stored, left=left)
        return gone

    def _index_owners(
        self, stored: Stored, owners: frozenset[str], previous: Stored | None
    ) -> tuple[bool, frozenset[str]]:
        """Updates the index of owners. Returns whether the object has gained an owner, and whom it has lost."""
        # The search of the bytes saves decoding objects that have no owner.
        before = _owner_uids(previous.manifest()) if previous and b'"ownerReferences"' in previous.body else frozenset()
        key = (stored.resource, stored.namespace, stored.name)
        if gone := before - owners:
            statement = "delete from owners where owner=? and resource=? and namespace=? and name=?"
            self._db.executemany(statement, ((uid, *key) for uid in gone))
        if new := owners - before:
            self._db.executemany("insert or ignore into owners values(?,?,?,?)", ((uid, *key) for uid in new))
        return bool(owners - before), before - owners

    def _record_change(
        self, type: str, stored: Stored, previous: Stored | None, adopted: bool = False,
        left: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self._db.execute(
            "insert into changes values(?,?,?,?,?,?,?,?)",
            (stored.rv, stored.resource, stored.namespace, stored.name, type, stored.version,
             previous.rv if previous else None, stored.body),
        )  # fmt: skip
        self.changes.append(
            Change(type, stored.resource, stored.namespace, stored.name, stored.rv, stored.version, stored.body,
                   previous.body if previous else None, previous is not None, adopted, left)
        )  # fmt: skip


Companion = Callable[[Transaction, list[Change]], None]
"""Is given the changes of one write, of which its own writes become a part."""


def run_with_companions(
    transaction: Transaction, action: Callable[[Transaction], T], companions: Sequence[Companion]
) -> T:
    """The result of one write, once each companion has seen what it has changed."""
    before = len(transaction.changes)
    result = action(transaction)
    made = transaction.changes[before:]
    for companion in companions if made else ():
        companion(transaction, made)
    return result


def run_in_savepoint(
    db: sqlite3.Connection, transaction: Transaction, action: Callable[[Transaction], Any],
    companions: Sequence[Companion] = (),
) -> Any:  # fmt: skip
    """The result of one write, or the exception that rolled it back. Disk errors fail the whole group."""
    revision, changes = transaction.revision, len(transaction.changes)
    db.execute("savepoint one")
    try:
        result = run_with_companions(transaction, action, companions)
    except sqlite3.OperationalError:
        raise
    except Exception as error:
        # SQLite keeps the savepoint at `rollback to`; only `release` removes it.
        db.execute("rollback to one")
        db.execute("release one")
        transaction.revision = revision
        del transaction.changes[changes:]
        if isinstance(error, StopIteration):
            # asyncio refuses StopIteration as the exception of a future.
            log.exception("a write failed")
            return InternalError("the API server failed at this write; its log has the details")
        return error
    db.execute("release one")
    return result


def _owner_uids(manifest: Manifest) -> frozenset[str]:
    return frozenset(str(owner["uid"]) for owner in metadata(manifest).get("ownerReferences") or () if owner.get("uid"))
