"""Opens, reads, writes and removes files where a pod may have put something in the way: a link, a FIFO, a device.

A program can replace what it was given: its termination log by a link to somebody's key, a directory of a shared volume
by a link out of the volume (CVE-2017-1002101), or it swaps the two while the kubelet looks (CVE-2021-25741). So a path
is walked from a directory that no pod controls, one component at a time, each opened by the descriptor of the one
before. What was checked is what is used, whatever is renamed meanwhile.

Only regular files are ever opened: a FIFO would block the whole kubelet, and to open a device may change it.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from paddock.words.phrases import phrase

_MOST_LINKS = 40
"""As many links as Linux follows in one path."""
_LONGEST_PATH = 4096
_ALL = 0o700

_log = logging.getLogger(__name__)


class LeadsOut(OSError):
    """A path leaves its directory by a link or by `..`; the message names the part."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EXDEV, message)


def open_beneath(directory: Path, path: str, *, make: bool = False) -> int:
    """A descriptor (O_PATH) of `path` beneath `directory`, which the caller closes.

    A relative link is followed as long as it stays inside; `LeadsOut` for any other. Like openat2 with RESOLVE_BENEATH,
    which Python does not have. With `make`, missing directories are created. Raises OSError.
    """
    if len(path) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
    stack = [os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        _walk(stack, path, make=make)
        return stack.pop()
    finally:
        _close(stack)


def _walk(stack: list[int], path: str, *, make: bool) -> None:
    """Opens the components of `path` one after the other; `stack` has the descriptors of the directories so far."""
    pending = list(reversed(path.split("/")))
    links = 0
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if len(stack) == 1:
                raise LeadsOut(str(phrase("leads out of the volume")))
            os.close(stack.pop())
            continue
        found = _open_part(stack[-1], part, make=make)
        if not stat.S_ISLNK(os.fstat(found).st_mode):
            stack.append(found)
            continue
        with _closing(found):
            target = os.readlink("", dir_fd=found)
        links += 1
        if target.startswith("/"):
            said = phrase("{path} is a link to {target}, out of the volume", path=repr(part), target=target)
            raise LeadsOut(str(said))
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        pending += reversed(target.split("/"))


def _open_part(directory: int, part: str, *, make: bool) -> int:
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(part, flags, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(part, 0o700, dir_fd=directory)
    except FileExistsError:  # another pod made it meanwhile
        pass
    return os.open(part, flags, dir_fd=directory)


def open_regular(path: Path) -> int:
    """A descriptor for reading a regular file, which the caller closes. No link is followed in its last part. OSError
    for anything that is no regular file; nothing else is opened."""
    pinned = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    with _closing(pinned):
        _demand_regular(os.fstat(pinned).st_mode, path)
        # Through /proc, so that it is the file that was looked at.
        return os.open(f"/proc/self/fd/{pinned}", os.O_RDONLY | os.O_CLOEXEC)


def _demand_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_start(path: Path, size: int) -> bytes:
    """The first `size` bytes of a regular file. OSError as `open_regular`."""
    file = open_regular(path)
    with _closing(file):
        return os.pread(file, size, 0)


def read_end(path: Path, size: int) -> bytes:
    """The last `size` bytes of a regular file. OSError as `open_regular`."""
    file = open_regular(path)
    with _closing(file):
        return os.pread(file, size, max(0, os.fstat(file).st_size - size))


def open_for_writing(path: Path, flags: int) -> int:
    """A descriptor of a regular file, created (mode 0600) if it is missing. OSError if anything else is there.

    `flags` are added to O_WRONLY. No link is followed in the last part, and no FIFO waited for.
    """
    # The file is cut after the check alone.
    now = flags & ~os.O_TRUNC | os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(path, now, 0o600)
    try:
        _demand_regular(os.fstat(file).st_mode, path)
        if flags & os.O_TRUNC:
            os.ftruncate(file, 0)
        os.set_blocking(file, True)
    except OSError:
        os.close(file)
        raise
    return file


def write_beneath(directory: Path, name: str, content: bytes, mode: int) -> None:
    """Writes a file of a volume in one step; its directories are made, and those that are links lead nowhere else.

    It is written aside and renamed, because containers may be reading the file.
    """
    parent, _, last = name.rpartition("/")
    place = open_beneath(directory, parent, make=True)
    fresh = f".{last}.{secrets.token_hex(4)}.new"
    with _closing(place):
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place)
        with os.fdopen(file, "wb") as writer:
            writer.write(content)
            os.fchmod(file, mode)
        os.rename(fresh, last, src_dir_fd=place, dst_dir_fd=place)


def remove_tree(path: Path) -> None:
    """Removes a tree, as `try_to_remove` does; what cannot be removed stays, with one warning."""
    if (problem := try_to_remove(path)) is not None:
        _log.warning("%s cannot be removed: %s", path, problem.strerror)


def try_to_remove(path: Path) -> OSError | None:
    """Removes a directory with everything in it, of any depth and any modes; a link itself, never what it leads to.

    A missing path is no error. What cannot be removed stays; the first reason is returned.
    """
    try:
        parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    problems: list[OSError] = []
    with _closing(parent), _collecting(problems):
        _remove(parent, path.name, problems)
    return next((each for each in problems if each.errno != errno.ENOENT), None)


def _remove(parent: int, name: str, problems: list[OSError]) -> None:
    """Subdirectories are moved up into the tree's root before they are emptied: a program can nest directories deeper
    than Python recurses, and deeper than there are descriptors."""
    root = _open_to_empty(parent, name)
    fresh = (f".{secrets.token_hex(8)}-{number}" for number in count())
    with _closing(root):
        pending = list(_unlink_files(root, problems))
        while pending:
            each = pending.pop()
            with _collecting(problems):
                pending += _empty(root, each, fresh, problems)
                os.rmdir(each, dir_fd=root)
    os.rmdir(name, dir_fd=parent)


def _empty(root: int, name: str, fresh: Iterator[str], problems: list[OSError]) -> list[str]:
    """Unlinks the files of a directory in `root`, moves its subdirectories into `root`, and returns their new names."""
    moved = []
    directory = _open_to_empty(root, name)
    with _closing(directory):
        for each in _unlink_files(directory, problems):
            with _collecting(problems):
                os.close(_open_to_empty(directory, each))  # a move changes its entry `..`, so it must be writable
                target = next(fresh)
                os.rename(each, target, src_dir_fd=directory, dst_dir_fd=root)
                moved.append(target)
    return moved


def _unlink_files(directory: int, problems: list[OSError]) -> Iterator[str]:
    """Unlinks all that is no directory, and yields the names of the directories."""
    for name in os.listdir(directory):
        with _collecting(problems):
            if stat.S_ISDIR(os.lstat(name, dir_fd=directory).st_mode):
                yield name
            else:
                os.unlink(name, dir_fd=directory)


@contextmanager
def _collecting(problems: list[OSError]) -> Iterator[None]:
    """Goes on after an OSError, which is kept: one file that stays must not keep the others."""
    try:
        yield
    except OSError as error:
        problems.append(error)


def _open_to_empty(directory: int, name: str) -> int:
    """A directory to be emptied, whatever mode its program gave it. No link is followed."""
    pinned = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    with _closing(pinned):
        mode = stat.S_IMODE(os.fstat(pinned).st_mode)
        if mode & _ALL != _ALL:
            os.chmod(f"/proc/self/fd/{pinned}", mode | _ALL)  # noqa: PTH101 - of the descriptor, not of a path
        return os.open(f"/proc/self/fd/{pinned}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextmanager
def _closing(file: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(file)


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)
