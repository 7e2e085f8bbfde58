"""The journal of complete files: one line for each, appended when it has its name. I/O.

A line is JSON: `["train/0.tar", 1048576, "\"9b2c…\""]` (name, size in bytes, what the source calls the content). Of
two lines of one name the later counts. A process that is killed leaves at most one torn line at the end, which is cut
off. Names are kept as digests: 10^6 files take 160 MB, however long they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b

import msgspec

_LINE: msgspec.json.Decoder[tuple[str, int, str]] = msgspec.json.Decoder(tuple[str, int, str])
_READ_BYTES = 1 << 20


class Journal:
    """Open until `close`. `directory`: the descriptor of the directory that has it."""

    def __init__(self, directory: int, name: str = "files") -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(name, flags, 0o644, dir_fd=directory)
        self._known: dict[int, int] = {}
        whole = 0
        for line, end in self._read_lines():
            if (entry := _read_entry(line)) is not None:
                self._known[_digest(entry[0])] = _digest(f"{entry[1]} {entry[2]}")
            whole = end
        os.ftruncate(self._file, whole)

    def __len__(self) -> int:
        return len(self._known)

    def has(self, name: str, size: int, identity: str) -> bool:
        return self._known.get(_digest(name)) == _digest(f"{size} {identity}")

    def add(self, name: str, size: int, identity: str) -> None:
        line = msgspec.json.encode((name, size, identity)) + b"\n"
        while line:
            line = line[os.write(self._file, line) :]
        self._known[_digest(name)] = _digest(f"{size} {identity}")

    def clear(self) -> None:
        os.ftruncate(self._file, 0)
        self._known.clear()

    def close(self) -> None:
        os.close(self._file)

    def _read_lines(self) -> Iterator[tuple[bytes, int]]:
        """Whole lines, each with the offset of its end."""
        rest, offset = b"", 0
        while block := os.pread(self._file, _READ_BYTES, offset + len(rest)):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                offset += len(line) + 1
                yield line, offset


def _read_entry(line: bytes) -> tuple[str, int, str] | None:
    """None for a line that something else has spoilt."""
    try:
        return _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
