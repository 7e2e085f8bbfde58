"""Files as members of a tar archive (POSIX.1-2001), while they are read.

Not zip: its stored members cannot be read as a stream, and to compress parameters takes a processor for nothing. There
are no links in it: with a link in an archive, what is unpacked can lie anywhere.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator

_CHUNK = 2**18
_BLOCK = 512


def pack_name(path: str, root: str) -> str:
    """The name of the member: below the last part of the directory that is packed. Pure."""
    above = root.rpartition("/")[0]
    return path.removeprefix(f"{above}/") if above else path


def pack_file(descriptor: int, name: str) -> Iterator[bytes]:
    """A member, with as many bytes as the file had at its beginning: an archive says the size first. Zeros stand for
    those that went meanwhile. Closes the descriptor."""
    try:
        status = os.fstat(descriptor)
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = status.st_size, int(status.st_mtime), status.st_mode & 0o755
        yield member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        place = 0
        while place < member.size:
            most = min(_CHUNK, member.size - place)
            chunk = os.pread(descriptor, most, place) or bytes(most)
            place += len(chunk)
            yield chunk
        if padding := -member.size % _BLOCK:
            yield bytes(padding)
    finally:
        os.close(descriptor)


def pack_text(name: str, text: str) -> Iterator[bytes]:
    """A member with this text. Pure."""
    member, content = tarfile.TarInfo(name), text.encode()
    member.size = len(content)
    yield member.tobuf(tarfile.PAX_FORMAT)
    yield content + bytes(-member.size % _BLOCK)
