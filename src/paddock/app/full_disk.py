"""A disk of the home that takes no record: whether it is full or read-only, in which words, and what gives it room.

One sentence for all that a full disk stops: a start, a job that is submitted or followed, `paddock status`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Phrase, phrase

FULL_BELOW = 64 * 2**10
"""Free bytes below which a disk counts as full: the store writes pages."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk that holds `path`. `free` (for this user) and `size`: bytes."""

    path: Path
    free: int
    size: int
    read_only: bool = False


def find_full_disk(paths: Iterable[Path], outputs: Path) -> Phrase | None:
    """The first of the `paths` whose disk takes no record, explained; None without one. Each may have a disk of its
    own. `outputs`: as `explain_disk` has it."""
    return next((said for path in paths if path.exists() and (said := explain_disk(_look(path), outputs))), None)


def _look(path: Path) -> Disk:
    found = os.statvfs(path)
    free, size = (count * found.f_frsize for count in (found.f_bavail, found.f_blocks))
    return Disk(path, free, size, read_only=bool(found.f_flag & os.ST_RDONLY))


def explain_disk(disk: Disk, outputs: Path) -> Phrase | None:
    """Why nothing can be recorded on a disk, and what to do; None where it can. `outputs`: the directory of what jobs
    have written. Pure."""
    if disk.read_only:
        return phrase(
            "the disk that holds {path} is mounted read-only, so nothing is recorded: mount it writable (see dmesg for "
            "why), or name another directory in PADDOCK_HOME",
            path=str(disk.path),
        )
    if disk.free < FULL_BELOW:
        return phrase(
            "the disk that holds {path} is full ({free} of {size} free): nothing is recorded until some of it is free. "
            "`paddock clean` removes what may go; what jobs have written is in {outputs}, and `paddock dataset rm "
            "NAME` deletes data",
            path=str(disk.path), free=format_bytes(disk.free), size=format_bytes(disk.size), outputs=str(outputs),
        )  # fmt: skip
    return None
