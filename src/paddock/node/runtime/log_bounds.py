"""Bounds the logs of programs that print without end, so that none fills the disk.

A program writes into its log itself, so nobody can refuse what it prints. A log that has become too large gets a hole
instead (fallocate(2)): its beginning and its newest part stay, and what is between takes no room. The place of each
byte stays too, so whoever follows the log, has marks of it or an index sees no change, and the program none. A sentence
stands before the hole; `read_on` leads readers over it. To others it is zeros.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import stat
from pathlib import Path
from typing import NamedTuple

from paddock.kube.quantities import format_bytes
from paddock.words.phrases import phrase

MOST = 2**30
"""Bytes on the disk that a log may have, where there is room."""
_LEAST = 64 * 2**20
_FREE_SHARE = 10
"""A log has no more than this part of what is free: logs that grow together never fill the disk."""
_BEGIN = 16 * 2**20
"""Bytes at the beginning that stay."""
_STEP = 2**20
"""Holes begin and end at multiples of it, as a file system gives back whole blocks."""
_SENTENCE = 128
"""Bytes of the sentence."""
_PUNCH = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE

_log = logging.getLogger(__name__)


class Hole(NamedTuple):
    begin: int
    end: int


def find_most(free: int) -> int:
    """How many bytes a log may have on a disk with so many free ones. Pure."""
    return max(_LEAST, min(MOST, free // _FREE_SHARE))


def plan_hole(size: int, used: int, most: int) -> Hole | None:
    """What a log of this size, which has so many bytes on the disk, is to lose; None if it is small enough. After it
    half of `most` stays, so that a log is not looked at anew with each line. Pure."""
    if used <= most:
        return None
    end = (size - most // 2) // _STEP * _STEP
    return Hole(_BEGIN, end) if end > _BEGIN else None


def bound(log: Path, seen: os.stat_result) -> None:
    """Makes the hole that a log needs. Raises OSError where its file system makes none."""
    # A file system may hold blocks ready that the file does not have yet.
    used = min(seen.st_blocks * 512, seen.st_size)
    if used <= _LEAST:
        return
    room = os.statvfs(log)
    hole = plan_hole(seen.st_size, used, find_most(room.f_bavail * room.f_frsize))
    if hole is not None:
        _make(log, hole)


def _make(log: Path, hole: Hole) -> None:
    # Not for appending, as the sentence has its place.
    file = os.open(log, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return
        _punch(file, hole)
        size = format_bytes(hole.end - hole.begin)
        said = f"\n{phrase('… {size} were left out here, as the log was too large …', size=size)}\n".encode()
        # As long each time, as that of an earlier hole is written over.
        os.pwrite(file, said[-_SENTENCE:].rjust(_SENTENCE), hole.begin - _SENTENCE)
    finally:
        os.close(file)
    _log.info("%s was too large: its bytes from %d to %d were left out", log, hole.begin, hole.end)


def _punch(file: int, hole: Hole) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    punch = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if punch is None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    punch.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if punch(file, _PUNCH, hole.begin, hole.end - hole.begin):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def read_on(file: int, most: int) -> bytes:
    """The next bytes behind the place of a descriptor, which moves, without what is in a hole; empty at the end."""
    place = os.lseek(file, 0, os.SEEK_CUR)
    if os.pread(file, 1, place) == b"\0":  # also what a program may have printed
        place = _find(file, place, os.SEEK_DATA)
    chunk = os.read(file, most)
    if b"\0" in chunk:
        end = _find(file, place, os.SEEK_HOLE)
        if place < end < place + len(chunk):
            return chunk[: end - place]
        os.lseek(file, place + len(chunk), os.SEEK_SET)
    return chunk


def _find(file: int, place: int, what: int) -> int:
    """Moves to the next data or hole; stays where there is none, and where the file system knows none."""
    try:
        return os.lseek(file, place, what)
    except OSError:
        return place
