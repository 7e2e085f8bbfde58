"""Starts, watches, identifies and signals processes. Linux only (pidfd, /proc).

A process is identified by its pid and its birth (start time in clock ticks after boot), so a reused pid is never
signalled. Every process of a pod has the pod's UID in its environment, so it is found even in a session of its own,
which Paddle's launch and torchrun create for their workers.

Programs are started from the event loop's thread. No thread waits for them, and there is no polling unless file
descriptors run out.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.node.runtime.pod_files import open_for_writing

POD_VARIABLE = "PADDOCK_POD_UID"
CONTAINER_VARIABLE = "PADDOCK_CONTAINER"

# As in a container: the daemon's own umask is stricter, and would hide a program's files from others.
_UMASK = 0o022
_PROC = Path("/proc")
_POLL_SECONDS = 0.5  # for a process without a file descriptor
# execve hides the environment for up to 3 ms (measured), and shows it as empty before it is copied.
_EXEC_READS, _EMPTY_READS, _EXEC_SECONDS = 50, 3, 0.001
_LONGEST_ENVIRONMENT = 8 * 1024 * 1024
"""Bytes that are read. execve takes 6 MiB (bprm_stack_limits); a program can then make it as long as its memory (prctl,
PR_SET_MM_MAP)."""
_children: dict[int, subprocess.Popen[bytes]] = {}
"""The children of this process that are not reaped yet. Global, like the table of the operating system."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    birth: int


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    log: Path,
    *,
    stdin: int = subprocess.DEVNULL,
    inherit: Sequence[int] = (),
) -> Process:
    """Starts `command` in a new session; stdout and stderr are appended to `log`. `inherit`: file descriptors it keeps.

    Call it from the main thread. Raises OSError like exec.
    """
    # The program writes the file itself, so the log is complete even if the daemon dies.
    output = open_for_writing(log, os.O_APPEND)
    try:
        child = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=tuple(inherit),
            # The program outlives the daemon, and without a sandbox its group is signalled as one.
            start_new_session=True,
            umask=_UMASK,
        )
    finally:
        os.close(output)
    _children[child.pid] = child
    return Process(child.pid, read_birth(child.pid) or 0)


def is_child(pid: int) -> bool:
    """Whether `pid` is an unreaped child of this process; its pid cannot be reused until then."""
    return pid in _children


def reap(pid: int) -> int | None:
    """Reaps an ended child: its exit code, negative for a signal. None if it is no child or still runs."""
    child = _children.get(pid)
    if child is None:
        return None
    code = child.poll()
    if code is not None:
        del _children[pid]
    return code


def read_birth(pid: int) -> int | None:
    """The start time of a process in clock ticks after boot; None if it is gone or a zombie."""
    try:
        fields = _read_stat(pid)
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def read_parent(pid: int) -> Process | None:
    """The parent of a process; None if either is gone."""
    try:
        parent = int(_read_stat(pid)[1])
    except OSError:
        return None
    birth = read_birth(parent) if parent else None
    return None if birth is None else Process(parent, birth)


def parse_stat(text: str) -> Process | None:
    """The process whose `/proc/PID/stat` this is; None if it is anything else."""
    pid, fields = text.partition(" ")[0], _split_stat(text)
    known = pid.isdecimal() and len(fields) > 19 and fields[19].isdecimal()
    return Process(int(pid), int(fields[19])) if known else None


def _read_stat(pid: int) -> list[str]:
    """The fields of proc(5)'s stat from the third on: the first here is the state. Raises OSError if it is gone."""
    # The kernel cuts a program's name after 15 bytes, within a character too.
    return _split_stat((_PROC / str(pid) / "stat").read_text(errors="replace"))


def _split_stat(text: str) -> list[str]:
    # The program's name, in parentheses, may contain spaces and parentheses itself.
    return text.rpartition(")")[2].split()


def is_alive(process: Process) -> bool:
    return process.pid > 0 and read_birth(process.pid) == process.birth


def read_boot() -> str:
    """The boot id of the machine: pids and births of another boot are meaningless."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def read_oom_kills() -> int:
    """The kernel's count of out-of-memory kills since boot; 0 if not available."""
    try:
        lines = (_PROC / "vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


class ExitWatcher:
    """Calls back once when a process ends, whether child or adopted. Needs a running event loop."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}
        self._polls: dict[int, asyncio.TimerHandle] = {}

    def watch(self, process: Process, ended: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        try:
            file = os.pidfd_open(process.pid)
        except ProcessLookupError:
            loop.call_soon(ended)
            return
        # No file descriptor is free, so the process is polled.
        except OSError:
            self._poll(process, ended)
            return
        # Compared after pidfd_open: otherwise the pid could be reused between the two calls.
        if read_birth(process.pid) != process.birth:
            os.close(file)
            loop.call_soon(ended)
            return
        self._files[process.pid] = file

        def readable() -> None:
            self._forget(process.pid)
            ended()

        loop.add_reader(file, readable)

    def _poll(self, process: Process, ended: Callable[[], None]) -> None:
        if is_alive(process):
            loop = asyncio.get_running_loop()
            self._polls[process.pid] = loop.call_later(_POLL_SECONDS, self._poll, process, ended)
        else:
            self._polls.pop(process.pid, None)
            ended()

    def close(self) -> None:
        """Stops watching; the processes keep running."""
        for poll in self._polls.values():
            poll.cancel()
        for pid in list(self._files):
            self._forget(pid)

    def _forget(self, pid: int) -> None:
        file = self._files.pop(pid)
        asyncio.get_running_loop().remove_reader(file)
        os.close(file)


def send_signal(target: int, number: signal.Signals) -> None:
    """Signals a process, or a process group if `target` is negative. A missing process is no error."""
    if target == 0:
        raise ValueError("0 stands for this process's own group")
    try:
        if target < 0:
            os.killpg(-target, number)
        else:
            os.kill(target, number)
    except ProcessLookupError:
        return


def find_pod_processes(pods: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """The processes of each pod, by pod UID: pid and container. One scan of /proc."""
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


def belongs_to_pod(pid: int, pod: str) -> bool:
    """Whether the process belongs to the pod."""
    return f"{POD_VARIABLE}={pod}".encode() in _read_environment(pid).split(b"\0")


def find_descendants(pid: int) -> list[int]:
    """All descendants of `pid` that are not orphaned, whatever their environment."""
    found: list[int] = []
    pending = [pid]
    while pending:
        for child in _children_of(pending.pop()):
            found.append(child)
            pending.append(child)
    return found


def list_processes() -> list[int]:
    """All processes of this machine but this one."""
    return list(_process_numbers())


def read_session(pid: int) -> int | None:
    """The process that leads its session, also when that has ended; None if it is gone or a zombie."""
    try:
        fields = _read_stat(pid)
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[3])


def find_first_child(pid: int) -> int | None:
    """The oldest child of `pid`, or None. Children that `pid` adopted later are younger."""
    return min(_children_of(pid), key=lambda child: read_birth(child) or 0, default=None)


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
    """The environment of a process; empty for other users' processes, which are no pod's.

    While a process is in execve its environment reads as empty, so it is read again.
    """
    empty = 0
    for _ in range(_EXEC_READS):
        try:
            with (_PROC / str(pid) / "environ").open("rb") as file:
                environment = file.read(_LONGEST_ENVIRONMENT)
            if environment:
                return environment
            memory, start, end = _read_layout(pid)
        except OSError:
            return b""
        if not memory:
            return b""
        empty += start == end != 0
        if empty == _EMPTY_READS:
            return b""
        time.sleep(_EXEC_SECONDS)
    return b""


def _read_layout(pid: int) -> tuple[int, int, int]:
    """A process's memory (0: a kernel thread or zombie) and where its environment starts and ends (0: not yet set).

    proc(5): `vsize`, `env_start` and `env_end` of stat. Raises OSError if the process is gone.
    """
    fields = _read_stat(pid)
    return int(fields[20]), int(fields[47]), int(fields[48])
