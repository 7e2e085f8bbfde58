"""What is known of the files, as one hidden file between two fetches in a claim. I/O.

Pods mount the claim as it is, and programs take each directory that they find for data: a loader of pictures would take
`.paddock` for a class without pictures. So a pod that has fetched all leaves a file of that name, an archive of the
directory, and the next one makes it a directory again. On a laptop the controller keeps the directory elsewhere.

    .paddock.part, .paddock.new      the archive while it is written, and complete beside the directory
    .paddock.rest, .paddock.open     the directory while it is unpacked, and complete beside the archive

A process may be killed at any moment: what has the second name of a line is complete, and counts.
"""

from __future__ import annotations

import shutil
import tarfile
from contextlib import suppress
from pathlib import Path

from paddock.datasets.fetch.failures import FetchError, explain_os_error
from paddock.datasets.fetching import STATE_DIRECTORY


def unfold(target: str) -> None:
    """Before a fetch. A spoilt archive counts as none: each file is then fetched again. Raises `FetchError`."""
    try:
        _unfold(Path(target))
    except OSError as error:
        problem = explain_os_error(error, target)
        raise FetchError(problem.message, problem.fault) from None


def fold(target: str) -> None:
    """After a fetch. Where there is no room for it, the directory stays."""
    root = Path(target)
    state, part, new = root / STATE_DIRECTORY, _beside(root, "part"), _beside(root, "new")
    try:
        with tarfile.open(part, "w") as archive:
            archive.add(state, arcname=".")
        part.rename(new)
    except OSError:
        part.unlink(missing_ok=True)
        return
    with suppress(OSError):
        shutil.rmtree(state)
        new.rename(state)


def _unfold(root: Path) -> None:
    state, opened, rest, new = root / STATE_DIRECTORY, *(_beside(root, each) for each in ("open", "rest", "new"))
    if new.is_file():
        _remove(state)
        new.rename(state)
    if opened.is_dir():
        _remove(state)
        opened.rename(state)
    if state.is_symlink() or not state.is_file():
        return
    _remove(rest)
    rest.mkdir()
    try:
        with tarfile.open(state) as archive:
            archive.extractall(rest, filter="data")
    except tarfile.TarError:
        _remove(rest)
        state.unlink()
        return
    rest.rename(opened)
    state.unlink()
    opened.rename(state)


def _beside(root: Path, what: str) -> Path:
    return root / f"{STATE_DIRECTORY}.{what}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
