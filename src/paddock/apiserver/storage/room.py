"""The room of the store's disk: what is done while it is short, and the reserve by which deletions fit on a full one.

SQLite writes each commit into its log first, so even a deletion needs room. A file of the store's own directory holds
some back: it is given up for deletions alone, and taken again once there is room. While the disk is short, the log is
copied into the store early, so that what the store still has to grow by fits into the reserve.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)

SHORT_BELOW = 64 * 2**20
"""Free bytes below which the log is kept short."""
_NEARLY_FULL_BELOW = 2**20
RESERVE_BYTES = 4 * 2**20
"""The largest object has 3 MiB, and its deletion writes it once more into the changelog."""
_PART = 8
"""The reserve takes at most this part of what is free: a small disk keeps its room for jobs."""
_LEAST_BYTES = 256 * 2**10
"""A smaller reserve is not worth its file."""
_LONG = "pragma wal_autocheckpoint=1000; pragma journal_size_limit=16777216;"
_SHORT = "pragma wal_autocheckpoint=64; pragma journal_size_limit=1048576;"


def plan_reserve(free: int) -> int:
    """Bytes of the first reserve on a disk with so many `free` bytes; 0 for none. Pure."""
    size = min(RESERVE_BYTES, free // _PART)
    return size if size >= _LEAST_BYTES else 0


def free_bytes(directory: Path) -> int:
    """What this user may still write to the disk. Raises OSError."""
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


@contextmanager
def overwriting_nothing(db: sqlite3.Connection) -> Iterator[None]:
    """Deletions leave the bytes of free pages as they are. Builds of Debian fill them with zeros, which took as much
    room in the log as what was deleted (756 KiB were not enough for 2.6 MiB, 40 KiB are)."""
    (before,) = db.execute("pragma secure_delete").fetchone()
    db.execute("pragma secure_delete=0").fetchall()
    try:
        yield
    finally:
        db.execute(f"pragma secure_delete={before}").fetchall()


class Room:
    """Of the disk that holds the store `path`. Nothing here raises: without a reserve a full disk refuses deletions
    too."""

    def __init__(self, path: Path) -> None:
        self._directory = path.parent
        self.reserve = path.with_name(f"{path.name}.reserve")
        self._held = 0
        """Bytes of the reserve."""
        self._refused = 0
        """Bytes that the disk did not give: a user's quota on it is not told before. They are not asked for again after
        each commit."""
        with suppress(OSError):
            self._held = self.reserve.stat().st_size
        self._short: bool | None = None

    def look(self, db: sqlite3.Connection) -> bool:
        """After a commit (6 us): takes the reserve where it is missing or has become small, and fits, and chooses how
        long the log may become. Whether the disk is nearly full."""
        try:
            free = free_bytes(self._directory)
        except OSError:
            return False
        # Seldom, while a disk gets room little by little.
        if (planned := plan_reserve(free)) >= 2 * max(self._held, self._refused):
            self._take(planned)
            self._refused = 0 if self._held else planned
        if (short := free < SHORT_BELOW) != self._short:
            self._short = short
            db.executescript(_SHORT if short else _LONG)
        return free < _NEARLY_FULL_BELOW

    def release(self) -> int:
        """Gives the reserve up; the bytes that it had."""
        with suppress(OSError):
            self.reserve.unlink(missing_ok=True)
        size, self._held = self._held, 0
        return size

    def retake(self, size: int) -> bool:
        """Takes the reserve of `size` bytes again, or one that is smaller, after `release`. Whether it has its size."""
        try:
            self._take(min(size, free_bytes(self._directory)))
        except OSError:
            return False
        return self._held == size

    def _take(self, size: int) -> None:
        if size < _LEAST_BYTES:
            return
        try:
            descriptor = os.open(self.reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, size)
            finally:
                os.close(descriptor)
            self._held = size
        except OSError as error:
            log.warning("no reserve for deletions on a full disk: %s", error)
            self.release()
