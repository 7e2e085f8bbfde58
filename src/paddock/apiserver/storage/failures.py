"""Errors of SQLite and of the disk, as messages that say what to do."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from paddock.kube.errors import ApiError, InternalError, Unavailable

log = logging.getLogger(__name__)


def explain_failure(error: Exception, path: Path) -> ApiError:
    """`Unavailable` for a full disk, missing rights or another process; `InternalError` for a bad file."""
    name = getattr(error, "sqlite_errorname", "") or ""
    # 28 and 122 are ENOSPC and EDQUOT of Linux: a full disk, and a used-up quota.
    if name.startswith("SQLITE_FULL") or getattr(error, "errno", None) in (28, 122):
        return Unavailable(f"nothing was stored: the disk that holds {path} is full. Free some space and try again")
    if name.startswith("SQLITE_READONLY") or isinstance(error, PermissionError):
        return Unavailable(f"nothing was stored: {path} cannot be written. Check the owner and mode of its directory")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable(f"{path} is in use by another process: one embedded cluster at a time may serve a directory")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return InternalError(f"{path} is damaged ({error}): move it away to start with an empty cluster")
    if name.startswith("SQLITE_IOERR"):
        return Unavailable(
            f"nothing was stored: reading or writing {path} failed ({error}). Check that the disk is well and not full"
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
