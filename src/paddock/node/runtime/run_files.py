"""The file of one run, which tells more than its process can: what to wait for, and how it ended.

    blank                          nothing of the user's has run: the start may be made again
    the process to wait for        written by the wrapper (`paddock.node.runtime.sandbox`) before it starts the program
    and the exit code              written by the wrapper afterwards

The lock of the file (flock) is taken before the process is made, which inherits it, and goes when that process ends,
however it ends. So the next kubelet knows whether one is alive without looking at processes: a program can clear its
environment and lead a session of its own, but it never has the descriptor.

The bytes are on the disk before the program starts and are overwritten in place, never cut: a disk that is full by the
end of the program cannot refuse them. A file system that never overwrites (Btrfs, ZFS) still can.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paddock.node.runtime.pod_files import open_for_writing, open_regular, read_start

# Bubblewrap writes about 200 bytes. Spaces, as a file system may keep no bytes for zeros.
_BLANK = b" " * 4095 + b"\n"


def open_run_file(path: Path) -> int:
    """A descriptor of a blank file with its lock, for the process that is to be started; the caller closes it.

    Raises OSError, `BlockingIOError` if a process holds the file.
    """
    with naming(path):
        file = open_for_writing(path, 0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, _BLANK, 0)
            os.fsync(file)
        except OSError:
            os.close(file)
            raise
    return file


def is_held(path: Path) -> bool:
    """Whether a process holds the file, which is that of the run. False if there is no such file."""
    try:
        file = open_regular(path)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def read_run_file(path: Path) -> str:
    """What the file tells so far; empty if it is blank or missing. Raises OSError."""
    try:
        return read_start(path, 65536).decode(errors="replace").strip()
    except FileNotFoundError:
        return ""


def is_full(path: Path) -> bool:
    """Whether nothing more can be written to the disk of the file."""
    try:
        return os.statvfs(path).f_bavail == 0
    except OSError:
        return False


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds the path to an OSError that names none, as those of `write` do."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
