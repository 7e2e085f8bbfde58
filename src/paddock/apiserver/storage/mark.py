"""The mark of a cluster beside its store: it tells a new home from one whose store was emptied.

SQLite opens an empty file as a new database, and removes the write-ahead log beside it. So a store that lost its
content is refused before it is opened. A store that is gone altogether is a new one: our advice is to move it away.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from pathlib import Path

from paddock.kube.errors import InternalError

log = logging.getLogger(__name__)

TABLES = frozenset({"objects", "changes", "owners", "meta"})


def mark_path(store: Path) -> Path:
    return store.with_name(f"{store.name}.cluster")


def write_mark(store: Path, uid: str, since: str) -> None:
    """Marks that this cluster's store has content. The store must be on the disk before."""
    path = mark_path(store)
    pending = path.with_name(f"{path.name}.tmp")
    descriptor = os.open(pending, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"uid": uid, "since": since}, file)
    pending.replace(path)


def _read_mark(store: Path) -> str | None:
    """Description of the store's former cluster, for an error; None if there was none."""
    try:
        text = mark_path(store).read_text()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "a cluster"
    try:
        mark = json.loads(text)
        return f"the cluster {mark['uid']} of {mark['since']}"
    except (ValueError, TypeError, KeyError):
        return "a cluster"


def check_file(store: Path) -> None:
    """Raises `InternalError` if the file is empty and was not. To be called before SQLite opens it. Forgets the mark of
    a file that is gone."""
    who = _read_mark(store)
    if who is None:
        return
    if not store.exists():
        log.warning("%s is gone, in which %s was: this is a new cluster", store, who)
        mark_path(store).unlink()
    elif store.stat().st_size == 0:
        raise _emptied(store, "is empty", who)


def check_content(store: Path, db: sqlite3.Connection) -> bool:
    """Whether the database has our tables; False if it is new. Raises `InternalError` if it has no content and had
    some, or is none of ours."""
    who = _read_mark(store)
    found = {name for (name,) in db.execute("select name from sqlite_master where type='table'")}
    if not found & TABLES:
        if found:
            raise InternalError(
                f"{store} is a database of another program (with the table {min(found)}): move it away to start with"
                " an empty cluster"
            )
        if who is not None:
            raise _emptied(store, "is a database without tables", who)
        return False
    if missing := TABLES - found:
        raise InternalError(
            f"{store} is damaged (without the table {min(missing)}): restore it from a backup, or move it away to start"
            " with an empty cluster"
        )
    if who is not None and not db.execute("select 1 from meta where key='cluster_uid'").fetchone():
        raise _emptied(store, "is a database without content", who)
    return True


def _emptied(store: Path, what: str, who: str) -> InternalError:
    return InternalError(
        f"{store} {what}, and {who} was in it: all its jobs and objects are gone from this file. Restore it from a"
        f" backup; or begin anew with an empty cluster: `rm {mark_path(store)}`, and start again"
    )
