"""What surrounds a container's program: the seam between the kubelet and the operating system.

Two sandboxes, both first class: `paddock.node.bubblewrap` (namespaces, own host name and hosts file, volumes at their
paths) and `Plain` here (a process group on the bare machine). `choose_sandbox` decides by trying once, as no setting
of a machine tells reliably whether namespaces work.

A sandbox only says what to run and whom to signal. It leaves the exit code in a file, so that the code survives a
`kill -9` of the daemon; the programs themselves survive it too and are adopted by the next one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from paddock.node import bubblewrap, processes
from paddock.node.volumes import Mount


@dataclass(frozen=True, slots=True)
class Program:
    """All that a sandbox needs to know of one run. `directory` is the working directory as the program sees it;
    `exit_file` and `termination` are files of this machine."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str
    host_name: str
    exit_file: Path
    termination: Path
    termination_path: str = "/dev/termination-log"
    hosts: Path | None = None
    mounts: tuple[Mount, ...] = field(default_factory=tuple)


class Sandbox(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def binds(self) -> bool:
        """Whether volumes and the hosts file appear at their paths. Otherwise links and replaced names must do."""
        ...

    def build_command(self, program: Program, status_fd: int) -> list[str]:
        """What to start. `status_fd` is the exit file, open for writing and inherited."""
        ...

    def read_exit(self, text: str) -> int | None:
        """The exit code in an exit file's text; None while or when there is none. 128 + n for signal n."""
        ...

    def find_program(self, pid: int, text: str) -> tuple[int, ...]:
        """Whom SIGTERM goes to, as arguments of os.kill: a negative number is a process group. Empty: not there yet."""
        ...

    def find_keeper(self, text: str) -> int | None:
        """The process whose SIGKILL ends all others of the container, if there is such a one."""
        ...


class Plain:
    """Processes of the machine, in a session of their own. A shell stays as parent, writes the exit code and has it.

    Signals to the group reach the shell too, which is why it traps them; traps are reset in what it starts. What the
    user wrote is never part of the script. The program is given by path, so that it is never one of the shell's own.
    """

    name = "none"
    binds = False
    _SCRIPT = (
        "trap : HUP INT QUIT TERM USR1 USR2; file=$1; shift; "
        "exec 3>&2 2>/dev/null; "  # a shell's own "Killed" is not for the program's log
        '(exec "$@" 2>&3 3>&-); code=$?; echo $code >"$file"; exit $code'  # a full disk takes no file
    )

    def build_command(self, program: Program, status_fd: int) -> list[str]:
        return ["/bin/sh", "-c", self._SCRIPT, "sh", str(program.exit_file), *program.arguments]

    def read_exit(self, text: str) -> int | None:
        return int(text) if text.strip().isdecimal() else None

    def find_program(self, pid: int, text: str) -> tuple[int, ...]:
        return (-pid,)

    def find_keeper(self, text: str) -> int | None:
        return None


class Bubblewrap:
    """bubblewrap around each container: see `paddock.node.bubblewrap` for what it is told, and why."""

    name = "bubblewrap"
    binds = True

    def __init__(self, program: str) -> None:
        self._program = program

    def build_command(self, program: Program, status_fd: int) -> list[str]:
        mounts = _all_mounts(program)
        view = bubblewrap.build_view(
            [mount.target for mount in mounts], lambda path: bubblewrap.read_directory(Path(path))
        )
        return [
            self._program,
            *view,
            *bubblewrap.build_devices(Path("/dev")),
            *bubblewrap.build_binds(mounts),
            *bubblewrap.NAMESPACES,
            *("--hostname", program.host_name, "--json-status-fd", str(status_fd)),
            *("--chdir", program.directory, "--", *program.arguments),
        ]

    def read_exit(self, text: str) -> int | None:
        return bubblewrap.read_status(text).exit_code

    def find_program(self, pid: int, text: str) -> tuple[int, ...]:
        keeper = bubblewrap.read_status(text).child
        return processes.find_first_child(keeper) if keeper else ()

    def find_keeper(self, text: str) -> int | None:
        return bubblewrap.read_status(text).child


def _all_mounts(program: Program) -> tuple[Mount, ...]:
    own = [Mount(program.termination, program.termination_path)]
    if program.hosts is not None:
        own.append(Mount(program.hosts, "/etc/hosts", read_only=True))
    return tuple(replace(mount, target=_real(mount.target)) for mount in (*own, *program.mounts))


def _real(target: str) -> str:
    """Mount points are made by path, and cannot be made through a symbolic link (/var/run)."""
    return target if target.startswith(("/dev/", "/proc/")) else os.path.realpath(target)


def find_sandbox(name: str) -> Sandbox | None:
    """The one that a run was started in, to read its exit file and to find its processes. It need not work here now."""
    known: tuple[Sandbox, ...] = (Plain(), Bubblewrap("bwrap"))
    return next((sandbox for sandbox in known if sandbox.name == name), None)


class NoSandbox(Exception):
    """The sandbox that was asked for does not work here; the sentence says why and what to do."""


def choose_sandbox(wanted: str = "auto") -> Sandbox:
    """`bubblewrap`, `none`, or `auto`: bubblewrap where it works. Blocks for about 10 ms. Raises `NoSandbox`."""
    if wanted not in ("auto", "bubblewrap", "none"):
        raise NoSandbox(f"sandbox {wanted!r} is unknown; there are auto, bubblewrap and none")
    if wanted == "none":
        return Plain()
    program = shutil.which("bwrap")
    problem = "bubblewrap (bwrap) is not installed" if program is None else _try(program)
    if program is not None and not problem:
        return Bubblewrap(program)
    if wanted == "bubblewrap":
        raise NoSandbox(f"{problem}; install it (apt install bubblewrap) or choose the sandbox none")
    return Plain()


def _try(program: str) -> str:
    """Why bubblewrap does not work here, or ''. Tried with all that pods will be started with."""
    view = bubblewrap.build_view((), lambda path: bubblewrap.read_directory(Path(path)))
    words = [program, *view, *bubblewrap.build_devices(Path("/dev")), *bubblewrap.NAMESPACES, "--hostname", "try"]
    try:
        answer = subprocess.run([*words, "--", "/bin/sh", "-c", ":"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap does not start: {error}"
    return "" if answer.returncode == 0 else answer.stderr.strip() or f"bwrap ended with {answer.returncode}"
