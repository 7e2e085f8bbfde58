"""What lies on disk for a built environment, and when it counts as complete. I/O, a few system calls.

    <cache>/environments/<key>/                a venv with `paddock.json`, written last; it is there or it is complete
    <cache>/environments/<key>.building-*/     in the making; whoever holds the lock may remove it
    <cache>/environments/<key>.lock            held while building (flock: released by any end of the process)
    <cache>/environments/<key>.log             what uv said
    <cache>/environments/<key>.pythons         which interpreters the packages allow, where a build found out

The venv is relocatable (its scripts find their interpreter beside themselves), so one rename makes it appear. A check
that the directory has passed is a file inside it: environments that share a directory may have different checks.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from pathlib import Path

import msgspec

from paddock.environments.definition import Definition, build_check_key, build_key
from paddock.environments.pythons import match_version, this_platform

MARKER = "paddock.json"


class Built(msgspec.Struct, frozen=True):
    """The marker of a complete directory. `packages` are all that was installed, by name."""

    key: str
    python: str
    packages: dict[str, str]
    size: int
    path: str = ""


def read_directory(root: Path, key: str) -> Built | None:
    """What is there, complete and with an interpreter that still exists."""
    path = root / key
    try:
        marker = msgspec.json.decode((path / MARKER).read_bytes(), type=Built)
    except (OSError, msgspec.DecodeError):
        return None
    if not os.access(path / "bin/python", os.X_OK):
        return None
    return msgspec.structs.replace(marker, path=str(path))


def publish(directory: Path, built: Built, final: Path) -> Built:
    """Marks a finished directory as complete and moves it to its place, where nothing may be."""
    (directory / MARKER).write_bytes(msgspec.json.format(msgspec.json.encode(built), indent=1))
    directory.rename(final)
    return msgspec.structs.replace(built, path=str(final))


def proof_of(directory: Path, definition: Definition) -> Path:
    """The file that says that this directory has passed the definition's check."""
    return directory / f".passed-{build_check_key(definition)}"


def read_pythons(root: Path, definition: Definition) -> str:
    """A specifier of the interpreters that a definition's packages allow, as an earlier build has found out; empty
    where none did."""
    try:
        noted = _pythons_of(root, definition).read_text()
        match_version(noted, (3, 0, 0))
    except (OSError, ValueError):
        return ""
    return noted


def write_pythons(root: Path, definition: Definition, specifier: str) -> None:
    note = _pythons_of(root, definition)
    pending = note.with_suffix(f".{os.getpid()}")
    pending.write_text(specifier)
    pending.rename(note)


def forget_pythons(root: Path, definition: Definition) -> None:
    """Releases get wheels for more interpreters: the next build finds out anew."""
    _pythons_of(root, definition).unlink(missing_ok=True)


def _pythons_of(root: Path, definition: Definition) -> Path:
    """Its key covers no interpreter."""
    return root / f"{build_key(definition, (), this_platform())}.pythons"


def remove(root: Path, key: str) -> bool:
    """The directory and its log; the lock's file stays, as somebody may wait for it. False: it is being built."""
    if not re.fullmatch(r"[0-9a-f]{8,64}", key):
        raise ValueError(f"{key!r} is no key of a built directory")
    lock = root / f"{key}.lock"
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(root / key, ignore_errors=True)
        (root / f"{key}.log").unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def measure(directory: Path) -> int:
    """Bytes of the files, each counted once, whether or not they share blocks with uv's cache."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - ten thousand files: strings are ten times faster
        for parent, _, names in os.walk(directory)
        for name in names
    )
