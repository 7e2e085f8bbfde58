"""Damaged rows: objects that cannot be read any more are set aside, and harm no other.

A row is checked once, when the store is opened: only its process writes to the file. `set_aside` moves what cannot be
read to the table `damaged`, from which nothing is ever deleted. The history of changes is dropped then, so that all
watchers list again.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import Any, NamedTuple

import msgspec

from paddock.apiserver.storage.transaction import COLUMNS

log = logging.getLogger(__name__)

_TABLE = """
create table if not exists damaged(
    resource text, namespace text, name text, uid text, rv integer, version text, body blob, why text not null)
"""


class Damaged(NamedTuple):
    """An object that was set aside. `resource`: its storage key."""

    resource: str
    namespace: str
    name: str
    uid: str
    why: str

    def __str__(self) -> str:
        group, _, plural = self.resource.partition("/")
        kind = f"{plural}.{group}" if group else plural
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


def find_damage(row: tuple[Any, ...]) -> str:
    """Why the row of an object cannot be served; empty if it can."""
    resource, namespace, name, uid, rv, version, body = row
    if not all(isinstance(text, str) for text in (resource, namespace, name, uid, version)) or not isinstance(rv, int):
        return "a column has a value of another type"
    if not isinstance(body, bytes):
        return "its body is no text"
    try:
        manifest = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return f"its body is not JSON: {error}"
    if not isinstance(manifest, dict) or not isinstance(manifest.get("metadata"), dict):
        return "its body is not an object of Kubernetes"
    meta = manifest["metadata"]
    found = (meta.get("namespace") or "", meta.get("name"), meta.get("uid"), meta.get("resourceVersion"))
    if found != (namespace, name, uid, str(rv)) or manifest.get("apiVersion") != version:
        return "its body is that of another object, or of another version"
    if not manifest.get("kind") or not isinstance(manifest["kind"], str):
        return "its body has no kind"
    parts = {"spec": manifest.get("spec"), "status": manifest.get("status")}
    parts |= {f"metadata.{name}": meta.get(name) for name in ("labels", "annotations")}
    wrong = next((name for name, part in parts.items() if not isinstance(part, dict | None)), "")
    return f"its {wrong} is no mapping" if wrong else ""


def set_aside(db: sqlite3.Connection, path: object, gap: int) -> list[Damaged]:
    """All objects that were set aside, now and before. `gap`: by so many resourceVersions the history of changes ends
    behind the last one that was issued, if it is dropped."""
    # A name that is no UTF-8 would be an error of the whole query.
    db.text_factory = _decode
    try:
        return _set_aside(db, path, gap)
    finally:
        db.text_factory = str


def _decode(text: bytes) -> str:
    return text.decode(errors="surrogateescape")


def _set_aside(db: sqlite3.Connection, path: object, gap: int) -> list[Damaged]:
    db.execute(_TABLE)
    # Somebody who edits the file by hand writes text, and SQLite keeps the type.
    db.execute("update objects set body=cast(body as blob) where typeof(body)='text'")
    rows = db.execute(f"select rowid, {COLUMNS} from objects")  # noqa: S608
    found = [(rowid, why) for rowid, *row in rows if (why := find_damage(tuple(row)))]
    if found or _has_damaged_changes(db):
        db.execute("begin immediate")
        (last,) = db.execute("select coalesce(max(rv), 0) from changes").fetchone()
        for rowid, why in found:
            _move(db, rowid, why)
        (newest,) = db.execute("select coalesce(max(rv), 0) from objects").fetchone()
        row = db.execute("select cast(value as integer) from meta where key='compacted_rv'").fetchone()
        db.execute("delete from changes")
        end = max(last, newest, row[0] if row else 0) + gap
        db.execute("insert or replace into meta values('compacted_rv', ?)", (str(end),))
        db.execute("commit")
    aside = [
        Damaged(*(str(value).encode(errors="replace").decode() for value in row))
        for row in db.execute("select resource, namespace, name, uid, why from damaged order by rowid")
    ]
    for one in aside[len(aside) - len(found) :]:
        log.error("%s is damaged (%s): it is set aside in the table `damaged` of %s", one, one.why, path)
    return aside


def _move(db: sqlite3.Connection, rowid: int, why: str) -> None:
    db.execute(f"insert into damaged select {COLUMNS}, ? from objects where rowid=?", (why, rowid))  # noqa: S608
    db.execute(
        "delete from owners where (resource, namespace, name) in"
        " (select resource, namespace, name from objects where rowid=?)",
        (rowid,),
    )
    db.execute("delete from objects where rowid=?", (rowid,))


def _has_damaged_changes(db: sqlite3.Connection) -> bool:
    """Whether a watch that resumes would be told what is not JSON. Quicker than `find_damage`: all values but one are
    skipped."""
    try:
        for (body,) in db.execute("select body from changes"):
            _read(body.decode())
    except (AttributeError, ValueError, msgspec.MsgspecError):
        log.error("a row of the history is damaged: it is dropped, and all watchers list again")
        return True
    return False


class _Change(msgspec.Struct):
    kind: str


_read = msgspec.json.Decoder(_Change).decode
