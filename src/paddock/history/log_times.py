"""The marks beside a log (`kube.log_marks`): when its lines were printed, as far as somebody noted it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paddock.kube.log_marks import MARK_BYTES, SUFFIX, Marks
from paddock.kube.log_marks import read_marks as decode
from paddock.kube.times import Moment

MOST_BYTES = 64 * 2**20
"""That are read: four million marks."""
_FEW_BYTES = 2**16
"""The marks of half an hour in which a program prints all the time."""


def read_marks(log: Path, begin: int = 0) -> Marks:
    """The marks of the log at this path, from mark number `begin` on; none where nobody wrote them."""
    with _open(log) as file:
        return decode(os.pread(file, MOST_BYTES, begin * MARK_BYTES)) if file is not None else Marks()


def find_offset(log: Path, moment: Moment) -> int | None:
    """Where in the log at this path that part begins which may have been printed at `moment` or later
    (`Marks.offset_since`). None where no marks are, or those of another log.

    The marks are read from their end, as a log of weeks has millions, and somebody asks for its last minutes."""
    with _open(log) as file:
        if file is None:
            return None
        end, most = os.fstat(file).st_size // MARK_BYTES * MARK_BYTES, _FEW_BYTES
        while True:
            begin = max(0, end - most)
            marks = decode(os.pread(file, end - begin, begin))
            if not begin or most >= MOST_BYTES or (len(marks) and marks.times[0] < moment):
                break
            most *= 8
    # A program may have cut its log, and marks that were torn by a full disk may say anything.
    return marks.offset_since(moment) if len(marks) and marks.offsets[-1] <= log.lstat().st_size else None


@contextmanager
def _open(log: Path) -> Iterator[int | None]:
    """A descriptor of the file of marks; None where there is none, or something else."""
    try:
        file = os.open(log.with_suffix(SUFFIX), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield file if stat.S_ISREG(os.fstat(file).st_mode) else None
    finally:
        os.close(file)
