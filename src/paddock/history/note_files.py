"""The notes of runs, kept beside their records: they survive the job, and go with the record.

    <directory>/NAMESPACE/NAME/UID.note     {"text": …, "tags": […]}; 0600, replaced atomically

The keeper has the records in memory and writes them whole, so a note has a file of its own. Who writes one says which
note they have seen: of two who write at once the second is told what the first wrote.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from paddock.history.notes import Note, bound, read_note
from paddock.history.records import Damaged, RunRecord, list_directories, path_of

SUFFIX = ".note"
_LARGEST = 64 * 2**10
"""Bytes of a note: 4,000 characters and 16 tags take at most 30,000 as JSON."""


class Stale(Exception):
    """Somebody wrote another note meanwhile; `now` is theirs, and nothing was written."""

    def __init__(self, now: Note) -> None:
        super().__init__("somebody else has written a note meanwhile")
        self.now = now


class RunGone(Exception):
    """The run is not kept any more, so there is nothing to write about."""


def read_notes(directory: Path, namespace: str = "", name: str = "") -> dict[str, Note | Damaged]:
    """The notes below the directory of records, by the UID of their run. What is no note is a `Damaged`."""
    found: dict[str, Note | Damaged] = {}
    for where in list_directories(directory, namespace, name):
        for path in sorted(where.glob(f"*{SUFFIX}")):
            found[path.stem] = _read(path)
    return found


def choose_note(record: RunRecord, kept: Note | Damaged | None) -> Note:
    """The note of a run: the kept one, else that of the job's annotations."""
    return kept if isinstance(kept, Note) else read_note(record.annotations)


def write_note(directory: Path, record: RunRecord, note: Note, seen: str) -> None:
    """Keeps a note. `seen`: the digest of the note that it replaces. A note that is damaged is replaced. Raises
    `Stale`, `RunGone`, OSError."""
    path = path_of(directory, record).with_suffix(SUFFIX)
    with _locked(path.parent):
        if not path_of(directory, record).is_file():
            raise RunGone
        now = choose_note(record, _read(path) if path.exists() else None)
        if now.digest not in (seen, note.digest):
            raise Stale(now)
        fresh = path.with_suffix(f"{SUFFIX}.new")
        fresh.unlink(missing_ok=True)
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "wb") as writer:
            writer.write(msgspec.json.encode(note))
        fresh.replace(path)
        if not path_of(directory, record).is_file():  # it was pruned meanwhile, with the note that it had
            path.unlink(missing_ok=True)
            raise RunGone


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Alone among those who write notes of this name, in every process of the machine. It is held for the writing of a
    small file."""
    try:
        file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RunGone from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _read(path: Path) -> Note | Damaged:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as reader:
            content = reader.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        return bound(msgspec.json.decode(content, type=Note))
    except OSError as error:
        return Damaged(path, error.strerror or str(error))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Damaged(path, str(error))
