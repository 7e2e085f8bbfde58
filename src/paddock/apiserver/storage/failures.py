"""Errors of SQLite and of the disk, as messages that say what to do."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from pathlib import Path

from paddock.apiserver.storage.room import free_bytes
from paddock.kube.errors import ApiError, InternalError, Unavailable
from paddock.kube.quantities import format_bytes

log = logging.getLogger(__name__)


_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_BELOW = 64 * 1024
"""Free bytes below which an error of the disk is one of its room: SQLite names some of those otherwise."""


def is_full(error: Exception) -> bool:
    """A full disk or a used-up quota, as far as the error tells."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith("SQLITE_FULL") or getattr(error, "errno", None) in _FULL_ERRNOS


def _is_out_of_room(path: Path) -> bool:
    try:
        return free_bytes(path.parent) < _FULL_BELOW
    except OSError:
        return False


def _explain_full(path: Path) -> Unavailable:
    try:
        found = os.statvfs(path.parent)
        free, size = (format_bytes(count * found.f_frsize) for count in (found.f_bavail, found.f_blocks))
        left = f" ({free} of {size} free)"
    except OSError:
        left = ""
    return Unavailable(
        f"nothing was stored: the disk that holds {path} is full{left}. Free some space and try again; objects can be"
        " deleted as long as the reserve for that lasts"
    )


def explain_failure(error: Exception, path: Path) -> ApiError:
    """`Unavailable` for a full disk, missing rights or another process; `InternalError` for a bad file."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if is_full(error) or (name.startswith("SQLITE_IOERR") and _is_out_of_room(path)):
        return _explain_full(path)
    if name.startswith("SQLITE_READONLY") or isinstance(error, PermissionError):
        return Unavailable(f"nothing was stored: {path} cannot be written. Check the owner and mode of its directory")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable(f"{path} is in use by another process: one embedded cluster at a time may serve a directory")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return InternalError(f"{path} is damaged ({error}): move it away to start with an empty cluster")
    if name.startswith("SQLITE_IOERR"):
        return Unavailable(
            f"nothing was stored: reading or writing {path} failed ({error}). Check that the disk works,"
            " and that it and your quota on it are not full"
        )
    return InternalError(f"{path} cannot be used: {error}")


def roll_back(db: sqlite3.Connection, path: Path) -> None:
    """Rolls back the failed transaction, if it is still open."""
    # SQLite itself has rolled back after some errors, such as a full disk.
    if db.in_transaction:
        try:
            db.execute("rollback")
        except sqlite3.Error:
            log.exception("the store %s could not roll back", path)
