"""The sets of packages that runs had: one file for each set, named by what it holds.

    <directory>/.packages/DIGEST.json       {"torch": "2.6.0", …}; 0600, written once, never changed

A namespace does not begin with a dot, so no record lies there. A set that no record names goes an hour after it was
last written or met (`drop_unused`): a record that names it may be on its way.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from paddock.history.surroundings import Packages
from paddock.kube.times import Moment

LARGEST = 4 * 2**20
"""Bytes of a set; three thousand packages take a hundred thousand."""
UNUSED_SECONDS = 3600.0
_DIRECTORY = ".packages"
_DIGEST = re.compile(r"[0-9a-f]{32}")
_ENCODER = msgspec.json.Encoder(order="deterministic")


def write_set(directory: Path, packages: Packages) -> str:
    """Keeps a set, and returns its digest. `directory`: of the records. Raises OSError."""
    content = _ENCODER.encode(dict(packages))
    digest = sha256(content).hexdigest()[:32]
    if meet_set(directory, digest):
        return digest
    path = _path_of(directory, digest)
    for each in (directory, path.parent):
        each.mkdir(mode=0o700, exist_ok=True)
    fresh = path.with_suffix(f".{threading.get_ident()}")
    fresh.unlink(missing_ok=True)
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as writer:
        writer.write(content)
    fresh.replace(path)
    return digest


def meet_set(directory: Path, digest: str) -> bool:
    """Whether the set is kept; its file is as new then as if it had been written now."""
    try:
        os.utime(_path_of(directory, digest), follow_symlinks=False)
    except OSError:
        return False
    return True


@lru_cache(maxsize=64)
def read_set(directory: Path, digest: str) -> Packages | None:
    """None where it is not kept, or anything but a set has its name."""
    if not _DIGEST.fullmatch(digest):
        return None
    try:
        file = os.open(_path_of(directory, digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as reader:
            content = reader.read(LARGEST + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        return msgspec.json.decode(content, type=dict[str, str])
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def drop_unused(directory: Path, used: Collection[str], now: Moment) -> None:
    """Removes the sets that are not `used` (digests) and that nobody has met for `UNUSED_SECONDS`, and what an
    interrupted write has left."""
    with suppress(OSError):
        for path in (directory / _DIRECTORY).iterdir():
            with suppress(OSError):
                kept = path.suffix == ".json" and path.stem in used
                if not kept and now - path.lstat().st_mtime > UNUSED_SECONDS:
                    path.unlink()


def _path_of(directory: Path, digest: str) -> Path:
    return directory / _DIRECTORY / f"{digest}.json"
