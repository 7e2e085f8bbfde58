"""Layers as archives: what the names in one tell, and new ones whose digest is that of their content. I/O.

Two archives of the same files are the same bytes: entries are sorted, of root, without times, and gzip has none either.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from paddock.images.contents import Contents, add_entry, is_wanted

_LARGEST_TEXT = 256 * 2**10
_LARGEST_HEADER = 2**20
_MOST_ENTRIES = 2_000_000
_MOST_BYTES = 256 * 2**30
"""Of a layer when it is unpacked: a small archive may unpack to anything."""
_MOST_TOLD = 256 * 2**20
"""Characters of what is kept of a layer: of the largest images it is a few MiB."""
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
GZIP_LEVEL = 4
"""Of packages: half the time of gzip's own default, for a few parts in a hundred of the size."""


class Stopped(Exception):
    """Nobody waits for the archive any more."""


class _BoundedHeader(tarfile.TarInfo):
    """tarfile reads a header of any length into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _BoundedHeader:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _EXTENDED and found.size > _LARGEST_HEADER:
            raise tarfile.ReadError("a header of over 1 MiB")  # an InvalidHeaderError would end the archive
        return found


def read_layer(file: Path, goes_on: Callable[[], bool] = lambda: True) -> Contents | None:
    """What the layer tells; None where it cannot be read (another compression, damaged, too large). `goes_on` is asked
    at each piece of the archive, as one entry may unpack to hundreds of GiB. Raises `Stopped`, OSError of the file
    itself."""
    contents = Contents()
    try:
        with file.open("rb") as stream, tarfile.open(
            fileobj=_Watched(stream, goes_on), mode="r|*", tarinfo=_BoundedHeader, encoding="utf-8",
            errors="surrogateescape",
        ) as archive:  # fmt: skip
            size = told = 0
            for number, entry in enumerate(archive):
                _forget(archive)
                size += entry.size
                if number > _MOST_ENTRIES or size > _MOST_BYTES or told > _MOST_TOLD:
                    return None
                told += _read_entry(archive, entry, contents)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError):
        return None
    return contents


class _Watched(io.RawIOBase):
    """The archive, for as long as somebody waits for it."""

    def __init__(self, stream: BinaryIO, goes_on: Callable[[], bool]) -> None:
        super().__init__()
        self._stream, self._goes_on = stream, goes_on

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._goes_on():
            raise Stopped
        return self._stream.read(size)


def _forget(archive: tarfile.TarFile) -> None:
    """tarfile keeps each entry that it has read or written, and of a stream needs none."""
    vars(archive)["members"] = []


def _read_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo, contents: Contents) -> int:
    """How many characters of it are kept at most."""
    path = entry.name.removeprefix("./").strip("/")
    link = entry.linkname if entry.issym() else f"/{entry.linkname.removeprefix('./')}" if entry.islnk() else None
    text = None
    if entry.isfile() and is_wanted(path):
        stream = archive.extractfile(entry)
        text = stream.read(_LARGEST_TEXT).decode(errors="replace") if stream is not None else None
    elif entry.isdir() and link is None and not path.rpartition("/")[2].startswith(".wh."):
        return 0
    return len(path) + len(link or "") + len(text or "") if add_entry(contents, path, link, text) else 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a layer that is made."""

    path: str
    """In the image, without a slash at its begin."""
    source: Path | None = None
    """The file whose bytes it has; None where `content` has them."""
    content: bytes = b""
    executable: bool = False
    link: str = ""
    """The target of a symbolic link; empty for a file."""


@dataclass(frozen=True, slots=True)
class Written:
    """A layer that was made."""

    file: Path
    digest: str
    diff_id: str
    size: int


def write_layer(
    file: Path, entries: Iterable[Entry], *, level: int = GZIP_LEVEL, count: Callable[[int], None] = lambda size: None
) -> Written:
    """Writes the archive. `count` is called with the bytes that go in, before they are compressed, and may raise to end
    it. Raises OSError, and `tarfile.TarError` for a file that became shorter while it was read."""
    with file.open("wb") as raw:
        packed = _Hashed(raw)
        with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=packed, mtime=0) as compressed:
            plain = _Hashed(compressed, count)
            with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as archive:
                for each in _with_directories(sorted(entries, key=lambda each: each.path)):
                    _add(archive, each)
                    _forget(archive)
    return Written(file, packed.digest, plain.digest, packed.size)


def _with_directories(entries: Iterable[Entry]) -> Iterator[Entry | str]:
    """Each directory once, before what is in it."""
    made: set[str] = set()
    for each in entries:
        parts = each.path.split("/")
        for depth in range(1, len(parts)):
            if (directory := "/".join(parts[:depth])) not in made:
                made.add(directory)
                yield directory
        yield each


def _add(archive: tarfile.TarFile, each: Entry | str) -> None:
    header = tarfile.TarInfo(each if isinstance(each, str) else each.path)
    header.mtime, header.uid, header.gid, header.uname, header.gname = 0, 0, 0, "", ""
    if isinstance(each, str):
        header.type, header.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(header)
    elif each.link:
        header.type, header.linkname, header.mode = tarfile.SYMTYPE, each.link, 0o777
        archive.addfile(header)
    elif each.source is not None:
        header.mode = 0o755 if each.executable else 0o644
        with each.source.open("rb") as stream:
            header.size = _size_of(stream)
            archive.addfile(header, stream)
    else:
        header.mode, header.size = 0o755 if each.executable else 0o644, len(each.content)
        archive.addfile(header, io.BytesIO(each.content))


def _size_of(stream: BinaryIO) -> int:
    state = os.fstat(stream.fileno())
    if not stat.S_ISREG(state.st_mode):
        raise OSError(22, "no file any more")
    return state.st_size


class _Hashed(io.RawIOBase):
    """A stream that is written to, with the digest of what was."""

    def __init__(self, stream: Any, count: Callable[[int], None] = lambda size: None) -> None:
        super().__init__()
        self._stream, self._hash, self._count, self.size = stream, hashlib.sha256(), count, 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._hash.update(content)
        self.size += len(content)
        self._count(len(content))
        self._stream.write(content)
        return len(content)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"
