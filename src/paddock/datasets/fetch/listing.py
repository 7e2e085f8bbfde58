"""The files of a source, in a file of `.paddock` rather than in memory. I/O."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from paddock.datasets.fetch.bodies import LARGEST, is_length
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.names import Order, Patterns, check_name, find_clash, show
from paddock.words.phrases import phrase

_LISTED = 1 << 20
_NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """A file of a listing."""

    name: str  # of the file, below the dataset
    key: str  # what the source calls it
    size: int
    identity: str  # its ETag, or what says the same; empty if nothing does


class Listing:
    """Write with `add`, then `seal`, then read as often as needed. `directory`: the descriptor of `.paddock`."""

    def __init__(self, directory: int, patterns: Patterns) -> None:
        self._directory = directory
        self._patterns = patterns
        self._order = Order()
        self._file = os.fdopen(os.open("listing", _NEW, 0o644, dir_fd=directory), "r+b", buffering=_LISTED)
        self.size = self.files = self.seen = 0

    def add(self, entry: Entry) -> None:
        """Raises `FetchError` for a name or a size that cannot be a file's. Files that no pattern wants are only
        counted."""
        self.seen += 1
        if not self._patterns.wants(entry.name):
            return
        check_name(entry.name)
        _check_size(entry, self.size)
        # An empty object may be the sign of a folder.
        if entry.size and (clash := self._order.add(entry.name)):
            raise _build_clash(clash, entry.name)
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self.size += entry.size
        self.files += 1

    def clear(self) -> None:
        """Begins anew."""
        self._file.seek(0)
        self._file.truncate()
        self._order = Order()
        self.size = self.files = self.seen = 0

    def seal(self) -> None:
        """All are there. Raises `FetchError` for a file that is a directory of another."""
        self._file.flush()
        if not self._order.ordered and (clash := find_clash(each.name for each in self if each.size)):
            raise _build_clash(*clash)

    def __iter__(self) -> Iterator[Entry]:
        self._file.seek(0)
        decoder = msgspec.json.Decoder(Entry)
        for line in self._file:
            yield decoder.decode(line)

    def read_names(self) -> set[bytes]:
        """A digest of each name, by `digest`."""
        return {digest(each.name) for each in self}

    def close(self) -> None:
        self._file.close()
        os.unlink("listing", dir_fd=self._directory)


def _check_size(entry: Entry, before: int) -> None:
    """`before`: bytes of the files before it: the sum is a number of the API as well."""
    if not is_length(entry.size) or not is_length(before + entry.size):
        said = phrase(
            "the source lists {file} with the size {size}, and a file has 0 to {most} bytes: correct it there, or "
            "leave it out (spec.source.exclude)",
            file=show(entry.name), size=str(entry.size)[:40], most=LARGEST,
        )  # fmt: skip
        raise FetchError(said)


def _build_clash(one: str, other: str) -> FetchError:
    said = phrase(
        "the source has a file {one} and a file {other}, and a file cannot be a directory as well: rename one there, "
        "or leave it out (spec.source.exclude)",
        one=show(one), other=show(other),
    )  # fmt: skip
    return FetchError(said)


def digest(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()
