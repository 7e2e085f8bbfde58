"""The directory that is filled: files that are complete have their names, others are parts in `.paddock`. I/O.

    .paddock/parts/<digest of a name>         what has come of a file (`parts`)
    .paddock/parts/<digest of a name>.json    of which content it is
    .paddock/files                            the journal of complete files (`journal`)
    .paddock/source.json                      what was fetched here

A file is received as a part, verified, and renamed to its name, so a name never has half a file. All of it is safe
against SIGKILL at any moment. No symbolic link within the directory is followed: each directory on the way is opened
by its parent's descriptor, and a link that stands in the way is replaced.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.journal import Journal
from paddock.datasets.fetch.names import check_name
from paddock.datasets.fetch.parts import Part
from paddock.datasets.fetching import STATE_DIRECTORY, Fault
from paddock.kube.datasets import format_size
from paddock.words.phrases import phrase

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
SPARE_BYTES = 1 << 20
"""Room for what is known of files, beside the files."""


class Origin(msgspec.Struct, frozen=True):
    """What a target was filled from. `uri`: a digest of the address."""

    kind: str
    uri: str
    endpoint: str = ""
    round: int = 0


class Target:
    """Open until `close`. `path`: the directory, which is made if it is not there. `had_files`: it held something when
    it was opened. Raises OSError, and `FetchError` if another process fills it."""

    def __init__(self, path: str) -> None:
        self.path = path
        os.makedirs(path, mode=0o755, exist_ok=True)  # noqa: PTH103
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.state = _enter(self._root, STATE_DIRECTORY)
        self._lock()
        self._parts = _enter(self.state, "parts")
        self._journal = Journal(self.state)
        self.had_files = _list(self._root) != [STATE_DIRECTORY]

    def close(self) -> None:
        self._journal.close()
        for each in (self._lock_file, self._parts, self.state, self._root):
            os.close(each)

    @property
    def state_path(self) -> str:
        """The path of `.paddock`, for programs that are started."""
        return f"{self.path}/{STATE_DIRECTORY}"

    def begin(self, origin: Origin) -> None:
        """Notes what is fetched from now on. Complete files of another source are not known any more, unless both are
        S3, whose ETags say what the content is."""
        earlier = self._read_origin()
        if earlier == origin:
            return
        if earlier is not None and (earlier.uri, earlier.endpoint) != (origin.uri, origin.endpoint):
            self.drop_parts()
            if not earlier.kind == origin.kind == "s3":
                self._journal.clear()
        self.write_state("source.json", msgspec.json.encode(origin))

    def has(self, name: str, size: int, identity: str) -> bool:
        """Whether this content is there, complete."""
        return self._journal.has(name, size, identity) and self.measure(name) == size

    def measure(self, name: str) -> int | None:
        """The size of a file; None if there is none."""
        with suppress(OSError), self._open_above(name, make=False) as (directory, last):
            found = os.stat(last, dir_fd=directory, follow_symlinks=False)
            return found.st_size if stat.S_ISREG(found.st_mode) else None
        return None

    def is_directory(self, name: str) -> bool:
        with suppress(OSError), self._open_above(name, make=False) as (directory, last):
            return _is_directory(last, directory)
        return False

    def read_digest(self, name: str, algorithm: str) -> str:
        """The checksum of a complete file, in hexadecimal; empty if there is none."""
        with suppress(OSError), self._open_above(name, make=False) as (directory, last):
            file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            with os.fdopen(file, "rb") as opened:
                return _digest_file(opened.fileno(), algorithm)
        return ""

    def open_part(self, name: str, algorithm: str = "", header: bytes = b"") -> Part:
        """What has come of a file so far, to go on with. Raises `FetchError` for a name that is refused."""
        check_name(name)
        return Part(self._parts, _key(name), name, algorithm, header)

    def has_no_parts(self) -> bool:
        return not _list(self._parts)

    def peek_part(self, name: str) -> int:
        """Bytes of a file that have come so far."""
        with suppress(OSError):
            return os.stat(_key(name), dir_fd=self._parts, follow_symlinks=False).st_size
        return 0

    def keep(self, part: Part) -> None:
        """The part is complete and verified: it gets its name."""
        self._rename(part.key, part.name)
        self._journal.add(part.name, part.size, part.identity)
        part.remove()

    def write(self, name: str, data: bytes | memoryview, identity: str) -> None:
        """A small file at once."""
        check_name(name)
        key = _key(name)
        _write_file(self._parts, key, data)
        self._rename(key, name)
        self._journal.add(name, len(data), identity)

    def write_state(self, name: str, data: bytes) -> None:
        """A file of `.paddock`, whole or not at all."""
        _write_file(self.state, f"{name}.tmp", data)
        os.rename(f"{name}.tmp", name, src_dir_fd=self.state, dst_dir_fd=self.state)

    def read_state(self, name: str) -> bytes:
        """A file of `.paddock`. Raises OSError."""
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.state)
        with os.fdopen(file, "rb") as opened:
            return opened.read()

    def drop_parts(self) -> None:
        for each in _list(self._parts):
            os.unlink(each, dir_fd=self._parts)

    def remove_others(self, wanted: Callable[[str], bool]) -> None:
        """Removes each file that the source does not have, and directories that are empty then."""
        self._remove_others(self._root, "", wanted)

    def check_space(self, needed: int) -> None:
        """Raises `FetchError` if the disk has no room for so many bytes more."""
        found = os.statvfs(self._root)
        free = found.f_bavail * found.f_frsize
        if needed > 0 and needed + SPARE_BYTES > free:
            said = phrase(
                "{path}: needs {wanted}, and {free} are free on its disk: free some space, or leave files out",
                path=self.path, wanted=format_size(needed), free=format_size(free),
            )  # fmt: skip
            raise FetchError(said, Fault.MACHINE)

    def sync(self) -> None:
        """Returns when the disk has all of it, so that a machine that loses power loses nothing that is ready."""
        self.drop_parts()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).syncfs(self._root)

    def _read_origin(self) -> Origin | None:
        try:
            return msgspec.json.decode(self.read_state("source.json"), type=Origin)
        except (OSError, msgspec.DecodeError):
            return None

    def _lock(self) -> None:
        self._lock_file = os.open("lock", _NEW, 0o644, dir_fd=self.state)
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = phrase("another process fetches into {path}: wait for its end", path=self.path)
            raise FetchError(said, Fault.MACHINE) from None
        except OSError:  # a file system without locks
            pass

    def _rename(self, key: str, name: str) -> None:
        """A file of the parts to its name, in place of whatever has it."""
        with self._open_above(name, make=True) as (directory, last):
            try:
                os.rename(key, last, src_dir_fd=self._parts, dst_dir_fd=directory)
            except OSError:
                if not _is_directory(last, directory):
                    raise
                shutil.rmtree(last, dir_fd=directory)
                os.rename(key, last, src_dir_fd=self._parts, dst_dir_fd=directory)

    @contextmanager
    def _open_above(self, name: str, *, make: bool) -> Iterator[tuple[int, str]]:
        """The descriptor of the directory that has a file, and the last part of its name."""
        *above, last = name.split("/")
        directory = os.dup(self._root)
        try:
            for part in above:
                inner = _enter(directory, part) if make else os.open(part, _DIRECTORY, dir_fd=directory)
                os.close(directory)
                directory = inner
            yield directory, last
        finally:
            os.close(directory)

    def _remove_others(self, directory: int, prefix: str, wanted: Callable[[str], bool]) -> None:
        for name in _list(directory):
            path = prefix + name
            if path == STATE_DIRECTORY:
                continue
            if not _is_directory(name, directory):
                if not wanted(path):
                    os.unlink(name, dir_fd=directory)
                continue
            inner = os.open(name, _DIRECTORY, dir_fd=directory)
            try:
                self._remove_others(inner, f"{path}/", wanted)
            finally:
                os.close(inner)
            with suppress(OSError):
                os.rmdir(name, dir_fd=directory)


def _enter(above: int, name: str) -> int:
    """The descriptor of a directory, which is made if it is not there; a link or a file of that name is replaced."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=above)
    if not _is_directory(name, above):
        os.unlink(name, dir_fd=above)
        os.mkdir(name, 0o755, dir_fd=above)
    return os.open(name, _DIRECTORY, dir_fd=above)


def _list(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [each.name for each in entries]


def _is_directory(name: str, above: int) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    return False


def _write_file(directory: int, name: str, data: bytes | memoryview) -> None:
    file = os.open(name, _NEW, 0o644, dir_fd=directory)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
    finally:
        os.close(file)


def _digest_file(file: int, algorithm: str) -> str:
    found = hashlib.new(algorithm, usedforsecurity=False)
    offset = 0
    while block := os.pread(file, 4 << 20, offset):
        found.update(block)
        offset += len(block)
    return found.hexdigest()


def _key(name: str) -> str:
    """The name of the part of a file, as the file's own may be longer than a name can be here."""
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
