"""Whether the disk has room for what is being downloaded: asked as soon as its size is known."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.progress import format_size

OTHERS = "*"
UNPACKED: Mapping[str, float] = {"paddlepaddle": 3.7, OTHERS: 1.1}
"""Bytes on the disk for each byte of a wheel: measured for the large one (193 MB, 706 MB unpacked), and the least that
was seen for others (1.1 to 4.7). What may fit is not refused: a disk that gets full has a sentence of its own."""


@dataclass(slots=True)
class DiskWatch:
    """Looks at the disk that holds `root` whenever another download shows its size."""

    root: Path
    subject: str
    unpacked: Mapping[str, float]
    _known: int = 0

    def look(self, downloads: Mapping[str, tuple[int, int]]) -> None:
        """`downloads`: bytes (got, whole) by package. Raises `BuildFailed` where what is left will not fit."""
        if len(downloads) <= self._known:
            return
        self._known = len(downloads)
        free = shutil.disk_usage(self.root).free
        if free < sum((whole - got) * self._factor(name) for name, (got, whole) in downloads.items()):
            needed = sum(whole * self._factor(name) for name, (_, whole) in downloads.items())
            raise BuildFailed(explain_little_room(self.root, self.subject, free, needed), Fault.MACHINE)

    def _factor(self, package: str) -> float:
        return self.unpacked.get(package, self.unpacked[OTHERS])


def explain_little_room(root: Path, subject: str, free: float, needed: float) -> str:
    """Pure; bytes."""
    return (
        f"{subject} needs at least {format_size(needed)} on the disk, and {format_size(free)} are free where {root} "
        "is: free some space, or set XDG_CACHE_HOME to a directory with more"
    )
