"""Lets Paddock ask a Python where it is, by faulthandler, a signal and a file in memory. Written by Paddock.

It runs inside of a job's environment, in each Python that has PADDOCK_STACKS=1, which the node sets for every
container. The file has no path; who may read the process finds it by its name in /proc/PID/fd, and the name tells the
signal. So a process that has closed it, or has started another program in its own place, is never sent a signal that
would end it. A fork makes a file of its own: where two write into one, nobody can tell whose text it is. The module
imports nothing of Paddock, and needs Python 3.8; without Linux it does nothing.
"""

from __future__ import annotations

import os

SWITCH = "PADDOCK_STACKS"
FILE = "paddock-stacks-"
_OFFSET = 13
"""From SIGRTMIN on. The first ones are those that programs choose."""
_LEAST = 200
"""A low number is one that a program may expect for a file of its own."""


_file = -1


def install() -> None:
    """Once in a process: some Pythons read their .pth files twice. It fails for no program: without a stack it still
    trains."""
    try:
        if _file < 0:
            _install()
    except Exception:  # noqa: S110 - whatever lacks here, the program is to start
        pass


def _install() -> None:
    global _file
    import faulthandler
    import fcntl
    import signal

    number = next(
        each for each in range(signal.SIGRTMIN + _OFFSET, signal.SIGRTMAX) if signal.getsignal(each) == signal.SIG_DFL
    )
    first = _create(number)
    try:
        file = fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, _LEAST)
    except OSError:  # the program may have fewer files open
        file, first = first, -1
    if first >= 0:
        os.close(first)
    faulthandler.register(number, file=file, all_threads=True)
    _file, inode = file, os.fstat(file).st_ino

    def renew() -> None:
        """In a fork: a new file under the same number, which the program may have closed and given to another."""
        nonlocal inode
        try:
            if os.fstat(file).st_ino == inode:
                own = _create(number)
                os.dup2(own, file, inheritable=False)
                os.close(own)
                inode = os.fstat(file).st_ino
        except Exception:  # noqa: S110 - as `install`
            pass

    os.register_at_fork(after_in_child=renew)


def _create(number: int) -> int:
    import fcntl

    file = os.memfd_create(f"{FILE}{number}")
    # At its end, as who reads it empties it first.
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
    return file
