"""The directories of a rehearsal's volumes, with copies of what --data names.

They lie in the home, in a directory that begins with the process id of the command: one that was killed has left its
own behind, which the next rehearsal removes.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from paddock.app.home import Home
from paddock.kube.rehearsals import PLACE
from paddock.node.runtime.pod_files import remove_tree
from paddock.node.runtime.processes import read_birth
from paddock.submission.rehearsed_pods import Replaced
from paddock.words.phrases import Phrase, phrase

MOST = 200 * 10**6
"""Bytes of a directory that is copied."""
_LEAST = 4096
"""Bytes that a file takes on a disk, also an empty one: a million of them would take the machine's inodes."""

_Identity = tuple[int, int]
"""Device and inode."""
_Chain = tuple[_Identity, "_Chain | None"]
"""A directory, and those in which it lies."""


def place_of(home: Home) -> Path:
    return home.root / PLACE


@contextmanager
def make_directory(home: Home) -> Iterator[Path]:
    """A directory for the time of the context, private to the user. Raises OSError."""
    place = place_of(home)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(place)
    directory = Path(tempfile.mkdtemp(dir=place, prefix=f"{os.getpid()}-"))
    try:
        yield directory
    finally:
        remove_tree(directory)


def _sweep(place: Path) -> None:
    """Removes what commands have left that are gone."""
    for each in place.iterdir():
        found = re.fullmatch(r"([0-9]+)-.*", each.name)
        if found and read_birth(int(found[1])) is None:
            remove_tree(each)


class Uncopied(Exception):
    """Something in a directory of --data that has no copy; `said` names it."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


def measure(directory: Path, most: int = MOST) -> int:
    """The bytes of a copy of it, or more than `most` where they are more: each file and directory takes `_LEAST`.
    Raises OSError, `Uncopied`."""
    total = 0
    for _, found in _walk(directory):
        total += _LEAST if stat.S_ISDIR(found.st_mode) else max(_LEAST, found.st_size)
        if total > most:
            return total
    return total


def _walk(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """What is beneath a directory, by its relative path, a directory before what is in it; of a link, what it leads to.
    Raises OSError, `Uncopied`."""
    top: _Chain = (_identify(directory.stat()), None)
    pending = [("", top)]
    while pending:
        path, chain = pending.pop()
        with os.scandir(directory / path) as entries:
            for entry in entries:
                here, found = str(Path(path, entry.name)), _look(entry)
                if stat.S_ISDIR(found.st_mode):
                    if _is_in(chain, _identify(found)):
                        said = phrase("{path} is a link to {target}, a directory in which it lies: a copy has no end",
                                      path=entry.path, target=str(Path(entry.path).readlink()))  # fmt: skip
                        raise Uncopied(said)
                    pending.append((here, (_identify(found), chain)))
                yield here, found


def _look(entry: os.DirEntry[str]) -> os.stat_result:
    try:
        found = entry.stat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP) or not entry.is_symlink():
            raise
        said = phrase("{path} is a link to {target}, which leads to nothing",
                      path=entry.path, target=str(Path(entry.path).readlink()))  # fmt: skip
        raise Uncopied(said) from error
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise Uncopied(phrase("{path} is neither a file nor a directory", path=entry.path))
    return found


def _identify(found: os.stat_result) -> _Identity:
    return found.st_dev, found.st_ino


def _is_in(chain: _Chain | None, identity: _Identity) -> bool:
    """Whether a directory is one of those that lead to a place."""
    while chain is not None:
        if chain[0] == identity:
            return True
        chain = chain[1]
    return False


def fill(replaced: Sequence[Replaced], sources: Mapping[str, Path]) -> None:
    """Makes the directory of each volume, with a copy of its source. `sources`: by `Replaced.what`. Raises OSError,
    `Uncopied`."""
    for each in replaced:
        target = Path(each.directory)
        target.mkdir(parents=True, exist_ok=True)
        if source := sources.get(each.what):
            _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    """Files, not links: what is written by a link would be written into the original."""
    directories = [""]
    for path, found in list(_walk(source)):  # before anything is made: the copy may lie beneath its source
        if stat.S_ISDIR(found.st_mode):
            (target / path).mkdir()
            directories.append(path)
        else:
            shutil.copy2(source / path, target / path)
    for path in reversed(directories):  # at last, as a directory may be closed for writing
        shutil.copystat(source / path, target / path)
