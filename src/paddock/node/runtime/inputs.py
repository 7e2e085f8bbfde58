"""The standard input of containers with `stdin: true`: a FIFO for each run, to which attach writes.

The program has it open for reading, and for writing too, so that its input never ends, whoever comes and goes: the
node's process may end meanwhile. With `stdinOnce` the input is to end with its first client, so the node has it open in
the program's place until then, and it also ends with the node's process. In between nothing is kept but what the kernel
keeps of a pipe (64 KiB). Every other container has /dev/null.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """A FIFO."""

    path: Path
    once: bool
    """Whether it ends with its first client."""


def find_input(container: Manifest, path: Path) -> ProgramInput | None:
    """What a container asks for (core/v1: stdin, stdinOnce), at `path`; None without input."""
    return ProgramInput(path, bool(container.get("stdinOnce"))) if container.get("stdin") else None


class Inputs:
    """Those of one node."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def make(self, wanted: ProgramInput) -> None:
        """A new FIFO, before its program is started. Raises OSError."""
        self.drop(wanted.path)
        wanted.path.unlink(missing_ok=True)
        os.mkfifo(wanted.path, 0o600)
        if wanted.once:
            self._held[wanted.path] = _open(wanted.path, os.O_RDWR)

    def connect(self, wanted: ProgramInput) -> int | None:
        """A descriptor for a client, which closes it, and with `once` the input by it; None where that has happened.
        Raises OSError."""
        return self._held.pop(wanted.path, None) if wanted.once else _open(wanted.path, os.O_RDWR)

    def drop(self, path: Path) -> None:
        """Its program has ended, or was never started."""
        if (held := self._held.pop(path, None)) is not None:
            os.close(held)

    def close(self) -> None:
        for path in list(self._held):
            self.drop(path)


def open_for_program(wanted: ProgramInput) -> int:
    """A descriptor to be the program's standard input; the caller closes it. Raises OSError."""
    # To open a FIFO for reading alone waits for a writer, unless it is not to wait; its reads are to wait.
    descriptor = _open(wanted.path, os.O_RDONLY if wanted.once else os.O_RDWR)
    os.set_blocking(descriptor, True)
    return descriptor


def _open(path: Path, mode: int) -> int:
    # Without a sandbox a program may have put something else there.
    descriptor = os.open(path, mode | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(f"{path} is no FIFO any more")
    return descriptor
