"""Checks that the disk has space for the downloads, as soon as their sizes are known."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.progress import format_size
from paddock.words.phrases import Phrase, phrase

OTHERS = "*"
# The lowest ratio refuses no build that may fit; a disk that fills up all the same has its own sentence.
UNPACK_RATIOS: Mapping[str, float] = {"paddlepaddle": 3.7, "torch+cpu": 3.6, OTHERS: 1.1}
"""Bytes on disk for each byte of a wheel: measured for paddlepaddle (193 MB, 706 MB unpacked) and for torch for CPUs
(192 MB, 699 MB), and the lowest of others (1.1 to 4.7)."""


def find_ratios(ratios: Mapping[str, float], versions: Mapping[str, str]) -> Mapping[str, float]:
    """The ratios of packages in these versions: a build of its own, as in `+cpu`, has its own. Pure."""
    builds = {name: ratios.get(f"{name}+{version.partition('+')[2]}") for name, version in versions.items()}
    return {**ratios, **{name: ratio for name, ratio in builds.items() if ratio}}


@dataclass(slots=True)
class DiskWatch:
    """Checks the free space of the disk with `root` each time another download shows its size."""

    root: Path
    subject: str
    unpack_ratios: Mapping[str, float]
    _known: int = 0

    def check(self, downloads: Mapping[str, tuple[int, int]]) -> None:
        """`downloads`: package -> bytes (received, total). Raises `BuildFailed` if the rest does not fit."""
        if len(downloads) <= self._known:
            return
        self._known = len(downloads)
        free = shutil.disk_usage(self.root).free
        if free < sum((whole - got) * self._ratio(name) for name, (got, whole) in downloads.items()):
            needed = sum(whole * self._ratio(name) for name, (_, whole) in downloads.items())
            raise BuildFailed(explain_disk_space(self.root, self.subject, free, needed), Fault.MACHINE)

    def _ratio(self, package: str) -> float:
        return self.unpack_ratios.get(package, self.unpack_ratios[OTHERS])


def explain_disk_space(root: Path, subject: str, free: float, needed: float) -> Phrase:
    """Pure; bytes."""
    return phrase(
        "{subject} needs at least {needed} on the disk, and {free} are free where {path} is: free some space, or set "
        "XDG_CACHE_HOME to a directory with more",
        subject=subject, needed=format_size(needed), free=format_size(free), path=str(root),
    )  # fmt: skip
