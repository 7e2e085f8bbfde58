"""The terminal, or the pipes, of this command as bytes: what a program in a pod reads and prints.

Nothing is cleaned here: like `cli.output.streams.print_log` these are the bytes of a program that the user has
started, and what is behind a pipe wants them as they are. No stream is made non-blocking, as others have it too: a
shell, the other side of a pipe.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import stat
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from paddock.kube.pod_streams import Size

_READ = 32 << 10
_PIPE = 4096
"""Bytes that a pipe takes without blocking once it is writable (POSIX, PIPE_BUF)."""


def is_terminal(descriptor: int) -> bool:
    with suppress(OSError):
        return os.isatty(descriptor)
    return False


def find_stdin() -> int | None:
    """None where who started this command has closed it: the number may be that of anything since."""
    if sys.stdin is None:
        return None
    with suppress(OSError, ValueError):  # a stream of a Python program, which is no file
        return sys.stdin.fileno()
    return None


def has_input() -> bool:
    """Whether something waits in a pipe or a file that is the input of this command."""
    descriptor = find_stdin()
    if descriptor is None or is_terminal(descriptor):
        return False
    with suppress(OSError):
        seen = os.fstat(descriptor)
        if stat.S_ISREG(seen.st_mode):
            return seen.st_size > os.lseek(descriptor, 0, os.SEEK_CUR)
        waiting = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
        return int.from_bytes(waiting, sys.byteorder) > 0
    return False


def find_output(*, error: bool = False) -> int:
    """The descriptor of stdout, or of stderr, after what was printed before."""
    stream = sys.stderr if error else sys.stdout
    stream.flush()
    return stream.fileno()


def read_size(descriptor: int) -> Size | None:
    """None where it is not known, or nothing."""
    with suppress(OSError):
        found = os.get_terminal_size(descriptor)
        if found.columns and found.lines:
            return Size(found.columns, found.lines)
    return None


async def read_some(descriptor: int) -> bytes:
    """What is there, as soon as there is any; empty at the end, or where the terminal is gone."""
    while True:
        await _until_ready(descriptor, write=False)
        try:
            return os.read(descriptor, _READ)
        except BlockingIOError:  # somebody else was faster, on a descriptor that was made non-blocking
            continue
        except OSError:
            return b""


async def write_all(descriptor: int, data: bytes) -> None:
    """The loop goes on while the reader is slow. Raises OSError."""
    left = memoryview(data)
    while left:
        await _until_ready(descriptor, write=True)
        with suppress(BlockingIOError):
            left = left[os.write(descriptor, left[:_PIPE]) :]


async def _until_ready(descriptor: int, *, write: bool) -> None:
    """A regular file, which epoll does not take, always is."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    try:
        add(descriptor, tell)
    except PermissionError:
        await asyncio.sleep(0)
        return
    try:
        await ready
    finally:
        remove(descriptor)


@contextmanager
def raw(descriptor: int) -> Iterator[None]:
    """The terminal hands each key on as it is typed, Ctrl-C too, and changes no output. It is as before at the end,
    and in between each time that this process is continued."""
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def begin() -> None:
        tty.setraw(descriptor, termios.TCSADRAIN)

    begin()
    loop.add_signal_handler(signal.SIGCONT, begin)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
        with suppress(termios.error):  # it is gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def resized(descriptor: int, tell: Callable[[Size], None]) -> Iterator[None]:
    """Tells the size now, and each other."""
    loop = asyncio.get_running_loop()

    def look() -> None:
        if (size := read_size(descriptor)) is not None:
            tell(size)

    look()
    loop.add_signal_handler(signal.SIGWINCH, look)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
