"""Writes the files of a place to a directory: all or none, and never over a file that Paddock did not make."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from paddock.cli.cluster.errors import Failed, UserError
from paddock.places.rendering import MARK, File
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

_HEAD = 2000
"""Bytes in which the mark stands."""
_PLAIN, _PROGRAM = 0o600, 0o700
"""Files may have values of Secrets, and are for who renders them."""


def write_files(directory: Path, files: Sequence[File]) -> list[Path]:
    """Writes all files; the paths, in their order. Raises `UserError` before anything is written where a path is
    taken, and `Failed` where the disk refuses."""
    paths = [directory / file.path for file in files]
    taken = [each for path in paths for each in _find_taken(directory, path)]
    if taken:
        raise UserError(*taken, phrase("nothing is written; -o names another directory"))
    try:
        for path, file in zip(paths, files, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, file)
    except OSError as error:
        why = explain_unreadable(error)
        raise Failed(phrase("{file}: {why}", file=str(error.filename or directory), why=why)) from error
    return paths


def _find_taken(directory: Path, path: Path) -> Iterable[Phrase]:
    for place in (directory, *(directory / each for each in reversed(path.relative_to(directory).parents[:-1]))):
        if os.path.lexists(place) and not place.is_dir():
            yield phrase("{file} is there already, and is no directory", file=str(place))
            return
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not path.is_file():
        yield phrase("{file} is there already, and is no plain file", file=str(path))
    elif not is_made(path):
        yield phrase(
            "{file} is there already, and Paddock did not make it: it has no line with {mark}",
            file=str(path),
            mark=MARK,
        )


def is_made(path: Path) -> bool:
    """Whether a file is one that `paddock render` wrote; False where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return MARK.encode() in stream.read(_HEAD)
    except OSError:
        return False


def find_left(directory: Path, written: Sequence[Path]) -> list[Path]:
    """Files of an earlier rendering to the same directory, such as the script of a machine that is no longer named."""
    try:
        found = sorted(each for each in directory.iterdir() if each.is_file() and not each.is_symlink())
    except OSError:
        return []
    return [each for each in found if each not in written and is_made(each)]


def _write(path: Path, file: File) -> None:
    """Replaces the file at once: a script that bash reads while it runs stays whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    mode = _PROGRAM if file.executable else _PLAIN
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(file.text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
