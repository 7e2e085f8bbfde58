"""The marks beside a log (`kube.log_marks`): when its lines were printed, as far as somebody noted it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from paddock.kube.log_marks import MARK_BYTES, SUFFIX, Marks
from paddock.kube.log_marks import read_marks as decode

MOST_BYTES = 64 * 2**20
"""That are read: four million marks."""


def read_marks(log: Path, begin: int = 0) -> Marks:
    """The marks of the log at this path, from mark number `begin` on; none where nobody wrote them."""
    try:
        file = os.open(log.with_suffix(SUFFIX), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Marks()
    with os.fdopen(file, "rb") as reader:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return Marks()
        reader.seek(begin * MARK_BYTES)
        return decode(reader.read(MOST_BYTES))
