"""The files of TensorBoard and VisualDL below a directory. Reads directories, never the files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from paddock.app.boards.tools import Tool, find_tool, read_begun
from paddock.kube.times import Moment

MOST_ENTRIES = 50_000
"""Entries of directories that are looked at below one root; a working directory may have data sets in it."""
MOST_FILES = 2_000
"""Event files that are taken of one root."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class EventFile:
    """One file that one of the programs reads."""

    path: PurePosixPath
    """Relative to the root."""
    tool: Tool
    modified: Moment
    begun: Moment | None = None
    """When its writer was made; None where its name does not say."""


def find_event_files(root: Path) -> list[EventFile]:
    """The newest first. Hidden directories and those of packages are left out, and links are not followed; a directory
    that cannot be read is taken for empty."""
    found: list[EventFile] = []
    for entry, relative in _walk(root):
        tool = find_tool(entry.name)
        if tool is None:
            continue
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            found.append(EventFile(relative, tool, status.st_mtime, read_begun(entry.name)))
        if len(found) == MOST_FILES:
            break
    return sorted(found, key=lambda each: (-each.modified, each.path))


def _walk(root: Path) -> Iterator[tuple[os.DirEntry[str], PurePosixPath]]:
    """The files, nearest to the root first: what a program writes stands near its directory, data sets lie deep."""
    waiting = [(str(root), PurePosixPath())]
    left = MOST_ENTRIES
    while waiting:
        following: list[tuple[str, PurePosixPath]] = []
        for directory, relative in waiting:
            with suppress(OSError), os.scandir(directory) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    below = relative / entry.name
                    if entry.is_file(follow_symlinks=False):
                        yield entry, below
                    elif entry.is_dir(follow_symlinks=False) and _is_looked_into(below):
                        following.append((entry.path, below))
        waiting = following


def _is_looked_into(path: PurePosixPath) -> bool:
    return not path.name.startswith(".") and path.name not in _SKIPPED and len(path.parts) < _DEEPEST
