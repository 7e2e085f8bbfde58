"""The files of a run that this machine keeps, copied into a directory as those of a cluster are fetched."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from paddock.app.claimed.fetching import FULL, Fetched
from paddock.app.claimed.files import ClaimedFile, explain_path, show_path
from paddock.app.claimed.target import Target
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

_BLOCK = 1 << 20


def copy_files(
    root: Path, files: Sequence[str], target: Target, show: Callable[[Fetched], None]
) -> tuple[Fetched, int]:
    """Also how many of them are links and devices, which are left out. `files`: relative to `root`. Raises OSError
    where the disk takes no more."""
    fetched, others = Fetched(), 0
    for path in files:
        if not _is_file(root / path):
            others += 1
            continue
        if why := explain_path(path):
            fetched.fail(why)
            continue
        try:
            with os.fdopen(os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as source:
                _copy(source, path, target, fetched, show)
        except OSError as error:
            if error.errno in FULL:
                raise
            fetched.fail(phrase("{file}: {why}", file=show_path(path), why=explain_unreadable(error)))
    return fetched, others


def _is_file(path: Path) -> bool:
    """Whether it is no link; what is gone meanwhile is taken for a file, and told when it is opened."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


def _copy(source: BinaryIO, path: str, target: Target, fetched: Fetched, show: Callable[[Fetched], None]) -> None:
    facts = os.fstat(source.fileno())
    file = ClaimedFile(path, facts.st_size, facts.st_mtime)
    fetched.wanted += file.size
    if target.has(file):
        fetched.there += 1
    else:
        digest = hashlib.sha256()
        with target.write(path, 0) as part:
            part.read_begun()
            while block := source.read(_BLOCK):
                digest.update(block)
                part.write(block)
                show(fetched)
            part.finish(digest.hexdigest(), file.time)
    fetched.files += 1
    fetched.bytes += file.size
