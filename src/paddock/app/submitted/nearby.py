"""A script that is not in the directory of the command, looked for in the directories around it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MOST = 200
"""Directories that are looked into on either level: a home or a scratch disk may have thousands."""


def find_nearby(directory: Path, script: str) -> str:
    """The directory that has `script`, as one types it where the command is called (`mnist`, `..`, `../mnist`); empty
    if no subdirectory of `directory`, its parent and no subdirectory of that has. What is not readable has nothing."""
    if Path(script).is_absolute():
        return ""
    for found in _around(directory):
        if os.path.isfile(directory / found / script):  # noqa: PTH113 (Path.is_file raises PermissionError)
            return os.path.relpath(directory / found)
    return ""


def _around(directory: Path) -> Iterator[Path]:
    yield from (Path(name) for name in _subdirectories(directory))
    if directory.parent == directory:
        return
    yield Path("..")
    yield from (Path("..", name) for name in _subdirectories(directory.parent) if name != directory.name)


def _subdirectories(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            names = (entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
            return sorted(islice(names, MOST))
    except OSError:
        return []
