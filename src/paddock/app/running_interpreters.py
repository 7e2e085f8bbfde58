"""Which interpreter trains, by the processes of a container that runs: for a command that does not say it (`uv run`,
`conda run`, `. env.sh`). I/O, in /proc.

Of all Pythons those count that have started no other one: `conda run` is a Python itself. Where they are not of one
interpreter, or one of them installs packages, nothing is known yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from paddock.launches.programs import is_python

_MOST = 256 * 1024
"""Bytes of a file of a process that are read: it can make its command line and its environment as long as its memory
(prctl, PR_SET_MM_MAP)."""
_PIP = "pip"


@dataclass(frozen=True, slots=True)
class Python:
    """A process that runs an interpreter."""

    pid: int
    parents: tuple[int, ...]
    """Its ancestors among the processes of the container."""
    path: Path
    """The interpreter as it was started, not resolved."""
    environ: Mapping[str, str]
    installs: bool = False


def choose_python(found: Iterable[Python]) -> Python | None:
    """The one whose interpreter trains; None where that is not known. Pure."""
    pythons = list(found)
    parents = {pid for each in pythons for pid in each.parents}
    last = [each for each in pythons if each.pid not in parents]
    known = len({each.path for each in last}) == 1 and not any(each.installs for each in last)
    return last[0] if known else None


def read_pythons(pids: Iterable[int], proc: Path = Path("/proc")) -> Iterator[Python]:
    """Those of these processes that run Python, and that this user may see."""
    own = set(pids)
    parents = {pid: _read_parent(proc, pid) for pid in own}
    for pid in sorted(own):
        words = [os.fsdecode(each) for each in _read(proc, pid, "cmdline").split(b"\0")]
        environ = _read_environ(proc, pid)
        if (path := _find_program(words[0], environ)) is None or not _is_same(path, proc / str(pid) / "exe"):
            continue
        yield Python(pid, tuple(_list_parents(pid, parents)), path, environ, _PIP in map(os.path.basename, words[1:3]))


def _find_program(word: str, environ: Mapping[str, str]) -> Path | None:
    """The file of a Python's first word; of one that is looked up, by PATH."""
    if not is_python(word):
        return None
    if "/" in word:
        return Path(word) if word.startswith("/") else None
    places = (Path(each) / word for each in environ.get("PATH", "").split(":") if each.startswith("/"))
    return next((each for each in places if os.access(each, os.X_OK)), None)


def _is_same(path: Path, program: Path) -> bool:
    """Whether the file of a process is this one: a shim, or a path of the pod alone, is another."""
    try:
        return path.samefile(program)
    except OSError:
        return False


def _list_parents(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    seen = {pid}
    while (pid := parents.get(pid, 0)) in parents and pid not in seen:
        seen.add(pid)
        yield pid


def _read_parent(proc: Path, pid: int) -> int:
    # The program's name, in parentheses, may contain spaces and parentheses itself.
    fields = _read(proc, pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read_environ(proc: Path, pid: int) -> dict[str, str]:
    entries = _read(proc, pid, "environ").split(b"\0")
    return dict(os.fsdecode(entry).partition("=")[::2] for entry in entries if b"=" in entry)


def _read(proc: Path, pid: int, name: str) -> bytes:
    """Empty if the process is gone, or another user's."""
    try:
        with (proc / str(pid) / name).open("rb") as file:
            return file.read(_MOST)
    except OSError:
        return b""
