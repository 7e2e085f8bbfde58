"""The directory into which the files of a run are fetched.

It is of one run: a file in it tells which (`MARK`), so that nothing else is overwritten, and so that the same command
goes on where it stopped. A file is written beside its place, and renamed when its size and digest are right. No link is
followed below the directory: what lies in a claim is anybody's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from paddock.app.claimed.files import MARK, PART, ClaimedFile

_BLOCK = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class NotOurs(Exception):
    """The directory has other files. `run`: what its mark says of another run; empty without one."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.run = run


class Target:
    """Raises OSError where a file cannot be written."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def open(self, job: str, uid: str) -> None:
        """Makes the directory, or goes on with it. Raises `NotOurs`, OSError."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = self.root / MARK
        told = {"job": job, "run": uid}
        if not mark.exists():
            if any(self.root.iterdir()):
                raise NotOurs("")
            mark.write_text(json.dumps(told) + "\n")
            return
        found: object = None
        with suppress(ValueError):
            found = json.loads(mark.read_text())
        if found != told:
            raise NotOurs(f"{found.get('job')} {found.get('run')}" if isinstance(found, dict) else "?")

    def has(self, file: ClaimedFile) -> bool:
        """Whether the file is there as it is in the claim: it is written with the time of that one."""
        with suppress(OSError), self._directory(file.path, make=False) as (place, name):
            facts = os.stat(name, dir_fd=place, follow_symlinks=False)
            return facts.st_size == file.size and abs(facts.st_mtime - file.time) < 1e-3
        return False

    def begun(self, file: ClaimedFile) -> int:
        """The bytes that an interrupted fetch has left."""
        with suppress(OSError), self._directory(file.path, make=False) as (place, name):
            return min(os.stat(name + PART, dir_fd=place, follow_symlinks=False).st_size, file.size)
        return 0

    @contextmanager
    def write(self, path: str, begin: int) -> Iterator[Part]:
        """The part of a file, from `begin` bytes on."""
        with self._directory(path, make=True) as (place, name):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name + PART, flags, 0o600, dir_fd=place), "r+b", 0) as file:
                yield Part(file, place, name, begin)

    @contextmanager
    def _directory(self, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
        *above, name = path.split("/")
        place = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for each in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(each, 0o700, dir_fd=place)
                inner = os.open(each, _DIRECTORY, dir_fd=place)
                os.close(place)
                place = inner
            yield place, name
        finally:
            os.close(place)


class Part:
    """A file that is being written."""

    def __init__(self, file: BinaryIO, place: int, name: str, begin: int) -> None:
        self._file, self._place, self._name = file, place, name
        self._digest = hashlib.sha256()
        self.begin = begin
        self.size = 0

    def read_begun(self) -> None:
        """The digest of what is there; what is behind `begin` goes. It takes a second for each gigabyte."""
        self._file.truncate(self.begin)
        while block := self._file.read(_BLOCK):
            self._add(block)

    def write(self, block: bytes) -> None:
        view = memoryview(block)
        while view:
            view = view[self._file.write(view) :]
        self._add(block)

    def _add(self, block: bytes) -> None:
        self._digest.update(block)
        self.size += len(block)

    def finish(self, digest: str, time: float) -> bool:
        """Puts the file into its place if it is the one that was sent; else it goes."""
        if self._digest.hexdigest() != digest:
            os.unlink(self._name + PART, dir_fd=self._place)
            return False
        os.utime(self._file.fileno(), (time, time))
        os.replace(self._name + PART, self._name, src_dir_fd=self._place, dst_dir_fd=self._place)
        return True
