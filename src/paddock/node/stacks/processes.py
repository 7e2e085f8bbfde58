"""The processes of a container, and what `/proc` tells of each. Linux only.

A process is a container's if its first process is among its ancestors, or if it is in the session that Paddock has
begun for it: without a sandbox, what a program leaves behind is another's child.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.kube.pod_stacks import is_python, read_rank

_LIBRARY = re.compile(rb"libpython[0-9.]+t?d?\.so")
_LONGEST_COMMAND = 200
_MOST, _MOST_MAPS = 256 * 1024, 8 * 1024 * 1024
"""Bytes of a file of a process that are read: it can make its command line and its environment as long as its memory
(prctl, PR_SET_MM_MAP)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A process, as `/proc` shows it."""

    pid: int
    command: str
    """Its words; empty where they cannot be read."""
    program: str
    """The name of its file; empty where nobody may see it."""
    python: bool | None
    """Whether it runs Python; None where nobody may see it."""
    rank: str
    """By a variable of its launcher; empty without one."""
    state: str
    """proc(5): `S`, `T`, `Z`; empty where it has ended."""
    caught: int
    """The signals for which it has handlers: bit n - 1 for signal n."""
    blocked: int = 0
    """Those that wait until it takes them, in its first thread; they may then meet another program."""


class Processes:
    """`proc`: another directory than /proc in tests."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc

    def list_of(self, roots: Mapping[int, str]) -> dict[int, str]:
        """The processes of containers, oldest number first, by the first process of each. `roots`: pid -> container."""
        parents = {pid: stat for pid in self._list_all() if (stat := self._read_stat(pid)) is not None}
        found: dict[int, str] = {}
        for pid in sorted(parents):
            root = self._find_root(pid, parents, roots)
            if root is not None:
                found[pid] = roots[root]
        return found

    def _list_all(self) -> Iterator[int]:
        return (int(name) for name in os.listdir(self._proc) if name.isdecimal())  # noqa: PTH208 - names alone

    def _find_root(self, pid: int, parents: Mapping[int, tuple[int, int]], roots: Mapping[int, str]) -> int | None:
        session, seen = parents[pid][1], set[int]()
        while pid in parents and pid not in seen:
            if pid in roots:
                return pid
            seen.add(pid)
            pid = parents[pid][0]
        return session if session in roots else None

    def _read_stat(self, pid: int) -> tuple[int, int] | None:
        """Its parent and its session."""
        # The program's name, in parentheses, may contain spaces and parentheses itself.
        fields = self._read(pid, "stat").rpartition(b")")[2].split()
        return (int(fields[1]), int(fields[3])) if len(fields) > 3 else None

    def look(self, pid: int) -> Seen:
        # The name of a program may have any character but a newline in it, which the kernel escapes.
        lines = self._read(pid, "status").decode(errors="replace").split("\n")
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        words = self._read(pid, "cmdline").split(b"\0")
        command = " ".join(word.decode(errors="replace") for word in words if word)[:_LONGEST_COMMAND]
        program = self._read_program(pid)
        caught, blocked = (status.get(name, "").strip() for name in ("SigCgt", "SigBlk"))
        return Seen(
            pid,
            command,
            program,
            self._is_python(pid, program),
            self._read_rank(pid),
            status.get("State", "").strip()[:1],
            int(caught, 16) if caught else 0,
            int(blocked, 16) if blocked else 0,
        )

    def find_file(self, pid: int, prefix: str) -> tuple[int, str] | None:
        """The open file in memory whose name begins so: its number and its name. None without one, and where nobody
        may see it."""
        with suppress(OSError):
            for each in (self._proc / str(pid) / "fd").iterdir():
                with suppress(OSError):
                    name = str(each.readlink()).removeprefix("/memfd:").removesuffix(" (deleted)")
                    if name.startswith(prefix):
                        return int(each.name), name
        return None

    def _read_program(self, pid: int) -> str:
        try:
            return (self._proc / str(pid) / "exe").readlink().name
        except OSError:
            return ""

    def _is_python(self, pid: int, program: str) -> bool | None:
        if not program:
            return None
        return is_python(program) or bool(_LIBRARY.search(self._read(pid, "maps", _MOST_MAPS)))

    def _read_rank(self, pid: int) -> str:
        entries = self._read(pid, "environ").split(b"\0")
        found = dict(entry.decode(errors="replace").partition("=")[::2] for entry in entries if entry)
        return read_rank(found)

    def _read(self, pid: int, name: str, most: int = _MOST) -> bytes:
        """Empty if the process is gone, or another user's."""
        try:
            with (self._proc / str(pid) / name).open("rb") as file:
                return file.read(most)
        except OSError:
            return b""
