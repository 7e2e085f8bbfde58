"""A file that is being received: its bytes, of which content they are, and their checksum. I/O."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

import msgspec

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_HASH_BLOCK = 4 << 20


class Mark(msgspec.Struct, frozen=True):
    """What lies beside a part, and says of which content its bytes are."""

    name: str  # of the file
    identity: str = ""  # of the content; empty: not known
    validator: str = ""  # what the server called it, an ETag or a date
    total: int | None = None  # the bytes of all of it, as the server told with the first of them


class Part:
    """Open until `close`. `directory`: the descriptor of the directory of parts. `algorithm`: the checksum that
    `digest` will be asked for; bytes are hashed as they come, and those of earlier processes when it is asked for.
    `header`: what is hashed before them. `identity`, `validator`, `total`: as in `Mark`."""

    def __init__(self, directory: int, key: str, name: str, algorithm: str = "", header: bytes = b"") -> None:
        self._directory, self.key, self.name = directory, key, name
        self._algorithm, self._header = algorithm, header
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(key, flags, 0o644, dir_fd=directory)
        self.size = os.fstat(self._file).st_size
        mark = self._read_mark()
        if mark is None or mark.name != name:
            os.ftruncate(self._file, 0)
            self.size, mark = 0, None
        mark = mark or Mark(name)
        self.identity, self.validator, self.total = mark.identity, mark.validator, mark.total
        self._start_hash()

    def close(self) -> None:
        os.close(self._file)

    def begin(self, identity: str, validator: str = "", total: int | None = None) -> None:
        """From its first byte, of this content. The bytes go before the mark changes, so that no mark is ever beside
        bytes of another content."""
        os.ftruncate(self._file, 0)
        self.size, self.identity, self.validator, self.total = 0, identity, validator, total
        self._start_hash()
        self._write_mark()

    def learn(self, total: int | None) -> None:
        """The length of the content whose bytes are there; None: nobody tells."""
        if total is not None and total != self.total:
            self.total = total
            self._write_mark()

    def _write_mark(self) -> None:
        file = os.open(f"{self.key}.tmp", _NEW, 0o644, dir_fd=self._directory)
        try:
            os.write(file, msgspec.json.encode(Mark(self.name, self.identity, self.validator, self.total)))
        finally:
            os.close(file)
        names = f"{self.key}.tmp", f"{self.key}.json"
        os.rename(*names, src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def append(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file, view, self.size)
            if self._algorithm and self._hashed == self.size:
                self._hash.update(view[:written])
                self._hashed += written
            self.size += written
            view = view[written:]

    def digest(self) -> str:
        """The checksum of the whole, in hexadecimal. Reads what was not hashed as it came, which may take minutes."""
        while block := os.pread(self._file, _HASH_BLOCK, self._hashed):
            self._hash.update(block)
            self._hashed += len(block)
        return self._hash.hexdigest()

    def remove(self) -> None:
        """Its bytes and its mark; the descriptor stays open."""
        for each in (self.key, f"{self.key}.json"):
            with suppress(FileNotFoundError):
                os.unlink(each, dir_fd=self._directory)

    def _read_mark(self) -> Mark | None:
        try:
            file = os.open(f"{self.key}.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._directory)
        except OSError:
            return None
        try:
            return msgspec.json.decode(os.read(file, 65536), type=Mark)
        except msgspec.DecodeError:
            return None
        finally:
            os.close(file)

    def _start_hash(self) -> None:
        self._hashed = 0
        self._hash = hashlib.new(self._algorithm or "sha256", self._header, usedforsecurity=False)
