"""What SQLite and the disk under it can fail by, as sentences that say what to do."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from paddock.kube.errors import ApiError, InternalError, Unavailable

log = logging.getLogger(__name__)


def explain_failure(error: Exception, path: Path) -> ApiError:
    """`Unavailable` where room, rights or another process are in the way, `InternalError` where the file is."""
    name = getattr(error, "sqlite_errorname", "") or ""
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
    """Ends the transaction that failed, if it is still open."""
    if db.in_transaction:
        try:
            db.execute("rollback")
        except sqlite3.Error:
            log.exception("the store %s could not roll back", path)
