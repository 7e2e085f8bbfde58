"""A working directory as an archive that goes into a claim: its digest first, the archive when it is sent.

The digest is that of names, modes and contents, so that the same files are the same claim wherever and whenever they
are packed; of the archive's own bytes, which depend on zlib, only the transport is checked.
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.directory_files import File
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

_PIECE = 2**20
_SEARCHED = 2**20
"""Bytes of a file, from its beginning, in which a secret is looked for."""


def build_digest(directory: Path, files: Sequence[File], look: Callable[[File, bytes], None]) -> str:
    """Of the files as they are now. `look` gets each with its beginning. Raises `UserError` for one that cannot be
    read."""
    digest = hashlib.sha256()
    for file in files:
        content = hashlib.sha256()
        first = True
        for piece in _read(directory / file.path):
            if first:
                look(file, piece[:_SEARCHED])
                first = False
            content.update(piece)
        if first:
            look(file, b"")
        _add(digest, file, content.digest())
    return digest.hexdigest()


def _add(digest: hashlib._Hash, file: File, content: bytes) -> None:
    name = file.path.encode()
    digest.update(len(name).to_bytes(4, "big") + name + bytes([file.executable]) + content)


def _read(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as opened:
            while piece := opened.read(_PIECE):
                yield piece
    except OSError as error:
        raise UserError(
            phrase("{path} cannot be read: {why}", path=str(path), why=explain_unreadable(error))
        ) from error


@dataclass(frozen=True, slots=True)
class Archive:
    """A packed directory, in a file without a name."""

    file: IO[bytes]
    size: int
    digest: str
    """SHA-256 of its bytes."""


@contextmanager
def open_archive(directory: Path, files: Sequence[File], expected: str) -> Iterator[Archive]:
    """Packs the directory, on the disk. Raises `Failed` where a file has changed since its digest was `expected`, and
    `UserError`."""
    with TemporaryFile() as place:
        if _pack(directory, files, place) != expected:
            raise Failed(phrase("{directory} has changed while it was sent: type the command again",
                                directory=str(directory)))  # fmt: skip
        place.seek(0)
        digest, size = hashlib.sha256(), 0
        while piece := place.read(_PIECE):
            digest.update(piece)
            size += len(piece)
        place.seek(0)
        yield Archive(place, size, digest.hexdigest())


def _pack(directory: Path, files: Sequence[File], place: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with (
        gzip.GzipFile(fileobj=place, mode="wb", compresslevel=3, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            member = tarfile.TarInfo(file.path)
            member.mode = 0o755 if file.executable else 0o644
            path = directory / file.path
            try:
                with path.open("rb") as opened:
                    member.size = path.stat().st_size
                    source = _Hashed(opened)
                    archive.addfile(member, source)
                    source.read(_PIECE)  # what has been appended meanwhile is another content
            except OSError as error:
                why = explain_unreadable(error)
                raise Failed(phrase("{path} cannot be sent: {why}", path=str(path), why=why)) from error
            _add(digest, file, source.digest.digest())
    return digest.hexdigest()


class _Hashed:
    """A file that is read, with the digest of what was read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self.digest = source, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.digest.update(data)
        return data
