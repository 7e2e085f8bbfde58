"""How many bytes of the disk come free when files are removed.

The files of an environment are hard links into uv's cache, and two environments may share some. A file's bytes come
free with its last link, so the links that lie in what is removed are counted against those that there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 512
"""Bytes of a block in `st_blocks`, on every file system."""

Links = Mapping[tuple[int, int], tuple[int, int, int]]
"""By device and inode: the bytes of a file, how many links it has, and how many of them were met."""


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes of files that are removed."""

    frees: int = 0
    """What comes free."""
    elsewhere: int = 0
    """What stays, as other links to it lie elsewhere."""


def read_links(paths: Iterable[Path]) -> Links:
    """The files below these paths. No symbolic link is followed; what cannot be read counts nothing."""
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    waiting = list(map(str, paths))
    while waiting:
        each = waiting.pop()
        with suppress(OSError):
            seen = os.lstat(each)
            is_directory = os.path.isdir(each) and not os.path.islink(each)  # noqa: PTH112, PTH114 - as above
            links = 1 if is_directory else seen.st_nlink  # those of a directory are its subdirectories' entries
            key = (seen.st_dev, seen.st_ino)
            found[key] = (seen.st_blocks * _BLOCK, links, found.get(key, (0, 0, 0))[2] + 1)
            if is_directory:
                waiting += [f"{each}/{name}" for name in os.listdir(each)]  # noqa: PTH208 - as above
    return found


def merge(found: Iterable[Links]) -> Links:
    """The links of things that are removed together. Pure."""
    merged: dict[tuple[int, int], tuple[int, int, int]] = {}
    for each in found:
        for key, (size, links, met) in each.items():
            merged[key] = (size, links, met + merged.get(key, (0, 0, 0))[2])
    return merged


def weigh(links: Links) -> Weight:
    """Pure."""
    frees = sum(size for size, count, met in links.values() if met >= count)
    return Weight(frees, sum(size for size, _, _ in links.values()) - frees)
