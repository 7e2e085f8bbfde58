"""The files of a built environment, and when it is complete. I/O, a few system calls.

    <cache>/environments/<key>/                a complete venv, with `paddock.json`, which is written last
    <cache>/environments/<key>.building-*/     an unfinished build; the holder of the lock may remove it
    <cache>/environments/<key>.lock            held while building (flock: released by any end of the process)
    <cache>/environments/<key>.log             uv's output
    <cache>/environments/<key>.pythons         the interpreters that the packages allow, if a build found out

The venv is relocatable (its scripts find their interpreter beside themselves), so one rename publishes it. A stamp file
in the directory records each check that it passed: environments that share a directory may have different checks.
Another, `.wanted-NAME`, records each Environment that was built by it for a pod or on request: any other with the same
content only finds the directory there.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from paddock.environments.definition import Definition, build_check_key, build_key
from paddock.environments.pythons import match_version, this_platform

MARKER = "paddock.json"


class Built(msgspec.Struct, frozen=True):
    """The content of a complete directory's marker file."""

    key: str
    python: str
    packages: dict[str, str]  # name -> version of all installed packages
    size: int
    path: str = ""
    build: str = ""  # which build of torch was chosen; empty without torch


def read_directory(root: Path, key: str) -> Built | None:
    """The directory of `key`, if complete and if its interpreter still exists; else None."""
    path = root / key
    try:
        marker = msgspec.json.decode((path / MARKER).read_bytes(), type=Built)
    except (OSError, msgspec.DecodeError):
        return None
    if not os.access(path / "bin/python", os.X_OK):
        return None
    return msgspec.structs.replace(marker, path=str(path))


def publish(directory: Path, built: Built, final: Path) -> Built:
    """Marks a finished directory as complete and renames it to `final`, which must not exist."""
    # The marker is written last: a directory without it is an unfinished build.
    (directory / MARKER).write_bytes(msgspec.json.format(msgspec.json.encode(built), indent=1))
    directory.rename(final)
    return msgspec.structs.replace(built, path=str(final))


def check_stamp(directory: Path, definition: Definition) -> Path:
    """The stamp file: it exists if this directory passed the definition's check."""
    return directory / f".passed-{build_check_key(definition)}"


def wanted_note(directory: Path, name: str) -> Path:
    """The file that is there if a pod or a request has wanted the Environment of this name in this directory."""
    return directory / f".wanted-{name}"


def read_pythons(root: Path, definition: Definition) -> str:
    """The specifier of the interpreters that a definition's packages allow, as noted by an earlier build; empty
    without one."""
    try:
        noted = _pythons_file(root, definition).read_text()
        match_version(noted, (3, 0, 0))
    except (OSError, ValueError):
        return ""
    return noted


def write_pythons(root: Path, definition: Definition, specifier: str) -> None:
    note = _pythons_file(root, definition)
    pending = note.with_suffix(f".{os.getpid()}")
    pending.write_text(specifier)
    pending.rename(note)


def forget_pythons(root: Path, definition: Definition) -> None:
    """Removes the noted interpreters, so that the next build checks again."""
    # A release may have got wheels for more interpreters since.
    _pythons_file(root, definition).unlink(missing_ok=True)


def _pythons_file(root: Path, definition: Definition) -> Path:
    """The file is named by a key without an interpreter."""
    return root / f"{build_key(definition, (), this_platform())}.pythons"


_NAME = re.compile(r"([0-9a-f]{8,64})(\.building-.*)?")


def list_keys(root: Path) -> list[str]:
    """The keys of which there are files: a built directory, or what an interrupted build or removal has left."""
    try:
        found = (match[1] for path in root.iterdir() if path.is_dir() and (match := _NAME.fullmatch(path.name)))
        return sorted(set(found))
    except OSError:
        return []


def list_paths(root: Path, key: str) -> list[Path]:
    """What lies on the disk of a key, without its lock: the lock's file stays, as another process may wait for it."""
    return [
        path for path in (root / key, *root.glob(f"{key}.building-*"), root / f"{key}.log") if os.path.lexists(path)
    ]


@contextmanager
def locked(root: Path, key: str) -> Iterator[bool]:
    """Holds the lock of a key; False while another process builds, or removes it. Raises OSError."""
    if not re.fullmatch(r"[0-9a-f]{8,64}", key):
        raise ValueError(f"{key!r} is no key of a built directory")
    descriptor = os.open(root / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        held = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held = False
        yield held
    finally:
        os.close(descriptor)


def measure(directory: Path) -> int:
    """Size of the files in bytes, including blocks shared with uv's cache."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - ten thousand files: strings are ten times faster
        for parent, _, names in os.walk(directory)
        for name in names
    )
