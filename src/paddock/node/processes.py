"""Processes of this machine: started, waited for, recognised again, ended. Linux only (pidfd, /proc).

A process is named by its number and its birth (clock ticks after boot), so a number that is used again by somebody
else is never signalled. Everything that a pod started carries the pod's UID in its environment, by which it is found
even where it made a session of its own, as Paddle's launch and torchrun do with their workers.

Programs are started from the event loop's own thread. No thread waits for them, and nothing polls for as
long as there are file descriptors.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

POD_VARIABLE = "PADDOCK_POD_UID"
CONTAINER_VARIABLE = "PADDOCK_CONTAINER"

_UMASK = 0o022  # as in a container; the daemon's own keeps everybody else out
_PROC = Path("/proc")
_LOOK = 0.5  # seconds between looks at a process for which no file descriptor was left
_children: dict[int, subprocess.Popen[bytes]] = {}
"""What this process has started and has not yet reaped; one table, as the operating system has one."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    birth: int


def spawn(
    command: Sequence[str], environment: Mapping[str, str], directory: Path, log: Path, *, inherit: Sequence[int] = ()
) -> Process:
    """Start `command` in a session of its own, both outputs appended to `log`; `inherit` are open files it may use.

    Call it from the main thread. Raises OSError as exec does.
    """
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=tuple(inherit),
            start_new_session=True,
            umask=_UMASK,
        )
    finally:
        os.close(output)
    _children[child.pid] = child
    return Process(child.pid, read_birth(child.pid) or 0)


def is_child(pid: int) -> bool:
    """Whether this process started it and has not reaped it; until then its number is not used again."""
    return pid in _children


def reap(pid: int) -> int | None:
    """Let an ended child go: its exit code, negative for a signal. None for what is not a child, or runs still."""
    child = _children.get(pid)
    if child is None:
        return None
    code = child.poll()
    if code is not None:
        del _children[pid]
    return code


def read_birth(pid: int) -> int | None:
    """Clock ticks after boot at which the process began; None when it is gone, or only waits to be reaped."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def is_alive(process: Process) -> bool:
    return process.pid > 0 and read_birth(process.pid) == process.birth


def read_boot() -> str:
    """Which start of the machine this is: process numbers and births of another one mean nothing."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def read_oom_kills() -> int:
    """How often the kernel has killed for lack of memory since boot; 0 where it does not tell."""
    try:
        lines = (_PROC / "vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


class Exits:
    """Calls back once when a process ends, its own child or an adopted one alike. Needs a running event loop."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}
        self._looks: dict[int, asyncio.TimerHandle] = {}

    def watch(self, process: Process, ended: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        try:
            file = os.pidfd_open(process.pid)
        except ProcessLookupError:
            loop.call_soon(ended)
            return
        except OSError:  # no descriptor is free
            self._look(process, ended)
            return
        if read_birth(process.pid) != process.birth:  # ended, perhaps with its number in use again
            os.close(file)
            loop.call_soon(ended)
            return
        self._files[process.pid] = file

        def readable() -> None:
            self._forget(process.pid)
            ended()

        loop.add_reader(file, readable)

    def _look(self, process: Process, ended: Callable[[], None]) -> None:
        if is_alive(process):
            loop = asyncio.get_running_loop()
            self._looks[process.pid] = loop.call_later(_LOOK, self._look, process, ended)
        else:
            self._looks.pop(process.pid, None)
            ended()

    def close(self) -> None:
        """Stop waiting; the processes go on."""
        for look in self._looks.values():
            look.cancel()
        for pid in list(self._files):
            self._forget(pid)

    def _forget(self, pid: int) -> None:
        file = self._files.pop(pid)
        asyncio.get_running_loop().remove_reader(file)
        os.close(file)


def send_signal(target: int, number: signal.Signals) -> None:
    """To a process, or to a process group where `target` is negative. One that is gone is no error."""
    try:
        if target < 0:
            os.killpg(-target, number)
        else:
            os.kill(target, number)
    except ProcessLookupError:
        return


def find_marked(pods: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """The processes of each of these pods, by pod UID: process number and container. One walk through /proc."""
    wanted: dict[str, list[tuple[int, str]]] = {uid: [] for uid in pods}
    marker = f"{POD_VARIABLE}=".encode()
    for pid in _process_numbers():
        environment = _read_environment(pid)
        if marker not in environment:
            continue
        variables = dict(entry.partition(b"=")[::2] for entry in environment.split(b"\0"))
        uid = variables.get(POD_VARIABLE.encode(), b"").decode(errors="replace")
        if uid in wanted:
            wanted[uid].append((pid, variables.get(CONTAINER_VARIABLE.encode(), b"").decode(errors="replace")))
    return wanted


def is_marked(pid: int, pod: str) -> bool:
    """Whether the process belongs to the pod."""
    return f"{POD_VARIABLE}={pod}".encode() in _read_environment(pid).split(b"\0")


def find_descendants(pid: int) -> list[int]:
    """All that `pid` has started and that has not been orphaned, whatever its environment says."""
    found: list[int] = []
    pending = [pid]
    while pending:
        for child in _children_of(pending.pop()):
            found.append(child)
            pending.append(child)
    return found


def find_first_child(pid: int) -> tuple[int, ...]:
    """The process that `pid` started first and that is still there; what it adopted later comes after it."""
    return tuple(sorted(_children_of(pid), key=lambda child: read_birth(child) or 0)[:1])


def _children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in (_PROC / f"{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _process_numbers() -> Iterator[int]:
    own = os.getpid()
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if entry.name.isdecimal() and int(entry.name) != own:
                yield int(entry.name)


def _read_environment(pid: int) -> bytes:
    """Of other users' processes nothing can be read, and nothing of them is ours."""
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""
