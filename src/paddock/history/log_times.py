"""The marks beside a log (`kube.log_marks`): when its lines were printed, as far as somebody noted it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from paddock.kube.log_marks import MARK_BYTES, MOST_BYTES, SUFFIX, Marks
from paddock.kube.log_marks import find_offset as search
from paddock.kube.log_marks import read_marks as decode
from paddock.kube.times import Moment

_LAST = 4_096
"""Marks at the end, of half an hour and more."""


def read_marks(log: Path, begin: int = 0) -> Marks:
    """The marks of the log at this path, from mark number `begin` on; none where nobody wrote them."""
    with _open(log) as file:
        return decode(os.pread(file, MOST_BYTES, begin * MARK_BYTES)) if file is not None else Marks()


def read_last_marks(log: Path) -> Marks:
    """The last ones of the log at this path: of what stands at its end."""
    with _open(log) as file:
        if file is None:
            return Marks()
        begin = max(0, os.fstat(file).st_size // MARK_BYTES - _LAST)
        return decode(os.pread(file, _LAST * MARK_BYTES, begin * MARK_BYTES))


def find_offset(log: Path, moment: Moment) -> int | None:
    """Where in the log at this path that part begins which may have been printed at `moment` or later, in bytes; None
    where nobody noted it (`kube.log_marks.find_offset`). Raises OSError where the log is gone."""
    with _open(log) as file:
        if file is None:
            return None
        end = os.fstat(file).st_size  # before the log, which is never shorter than a mark says
        return search(partial(os.pread, file), end, log.lstat().st_size, moment)


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
