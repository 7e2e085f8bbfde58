"""The sandboxes in which containers run: the interface between the kubelet and the operating system.

Two sandboxes, both fully supported: `Bubblewrap` (namespaces, own host name and hosts file, volumes at their paths) and
`Plain` (a process group on the machine). `choose_sandbox` tries bubblewrap once.

A sandbox returns the command to run and the processes to signal. What runs first is its wrapper, a shell or bubblewrap
itself. It writes to the run's file (`node.runtime.run_files`) who it is, before it starts the program, and later how
the program ended. The file survives a `kill -9` of the daemon; the programs survive too and are adopted by the next
daemon.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from paddock.node.runtime import bubblewrap, processes
from paddock.node.runtime.inputs import ProgramInput
from paddock.node.runtime.machine_view import is_at_or_below, plan_masks
from paddock.node.runtime.mount_sources import real_path, resolve_hidden
from paddock.node.runtime.mounts import Mount
from paddock.node.runtime.processes import Process
from paddock.words.phrases import phrase

UNTOLD_CODE = 125
"""The exit code of a shell that could not write to the run's file, and has started nothing."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program to run."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str
    """The working directory inside the container."""
    host_name: str
    termination: Path
    """A file of this machine."""
    termination_path: str = "/dev/termination-log"
    hosts: Path | None = None
    mounts: tuple[Mount, ...] = field(default_factory=tuple)
    hidden: tuple[Path, ...] = ()
    """Paths of this machine, existing or not, that a sandbox with mounts hides."""
    memory: int | None = None
    """Bytes that it may have; None without a limit."""
    input: ProgramInput | None = None
    """Its standard input; None for /dev/null."""


class Sandbox(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def problem(self) -> str:
        """Why bubblewrap, which is preferred, is not used; '' if it is, or if nobody wanted it."""
        ...

    @property
    def binds(self) -> bool:
        """Whether volumes and the hosts file are bind-mounted. If not, links and replaced names are used."""
        ...

    @property
    def binds_descriptors(self) -> bool:
        """Whether the command needs the descriptors of the program's mounts."""
        ...

    @property
    def takes_file_as_input(self) -> bool:
        """Whether the command has the run's file as its standard input. If not, it inherits it as it is numbered."""
        ...

    def build_command(self, program: Program, status_fd: int) -> list[str]:
        """The command to start. `status_fd` is the run's file, open for writing and inherited."""
        ...

    def find_process(self, text: str) -> Process | None:
        """The living process to wait for, from the text of the file of a run that is held; None if not told yet."""
        ...

    def read_exit(self, text: str) -> int | None:
        """The exit code in the text of the run's file, or None; 128 + n for signal n."""
        ...

    def find_program(self, pid: int, text: str) -> int | None:
        """The first process of the container, which SIGTERM tells of the end; None if not started yet, or ended."""
        ...

    def find_namespace_init(self, text: str) -> int | None:
        """Process 1 of the container's PID namespace, whose SIGKILL ends all others; None without a namespace."""
        ...


class Plain:
    """Plain processes in their own session. A shell is the parent: it writes the exit code and exits with it. Its first
    line in the file is its own stat (proc(5)), which has its pid and its birth.

    User input is never part of the script. The program is given by path, so that it is never a shell builtin.
    """

    name = "none"
    binds = False
    binds_descriptors = False
    takes_file_as_input = True

    def __init__(self, problem: str = "", *, files: int | None = None) -> None:
        self.problem = problem
        self._files = files

    # A shell can name the files 0 to 9 alone. A FIFO that is opened for reading alone waits for a writer.
    _NO_INPUT = "exec 4<&0 </dev/null; "
    _INPUT = 'exec 4<&0 0<>"$1"; shift; '
    _INPUT_ONCE = 'exec 4<&0 5<>"$1" 0<"$1" 5>&-; shift; '
    _SCRIPT = (
        # What is not told of is not started: the next kubelet would start it again.
        f'{{ read -r stat </proc/$$/stat && echo "$stat" >&4; }} || exit {UNTOLD_CODE}; '
        # A program may signal its group, and the shell with it. The trap is `:`, so that the program has no trap.
        "trap : HUP INT QUIT TERM USR1 USR2; "
        # This keeps the shell's own "Killed" out of the program's log.
        "exec 3>&2 2>/dev/null; "
        # The shell also exits with the code, for when a full disk refuses the file.
        '(exec "$@" 2>&3 3>&- 4>&-); code=$?; echo $code >&4; exit $code'
    )

    def build_command(self, program: Program, status_fd: int) -> list[str]:
        begin, words = self._NO_INPUT, program.arguments
        if program.input is not None:
            begin = self._INPUT_ONCE if program.input.once else self._INPUT
            words = (str(program.input.path), *words)
        return ["/bin/sh", "-c", _limit_files(self._files) + begin + self._SCRIPT, "sh", *words]

    def find_process(self, text: str) -> Process | None:
        return processes.parse_stat(text.partition("\n")[0])

    def read_exit(self, text: str) -> int | None:
        last = text.rpartition("\n")[2]
        return int(last) if last.isdecimal() else None

    def find_program(self, pid: int, text: str) -> int | None:
        return processes.find_first_child(pid)

    def find_namespace_init(self, text: str) -> int | None:
        return None


class Bubblewrap:
    """Runs each container in bubblewrap; `paddock.node.runtime.bubblewrap` has the arguments and their reasons."""

    name = "bubblewrap"
    problem = ""
    binds = True
    takes_file_as_input = False

    def __init__(self, program: str, *, binds_descriptors: bool = False, files: int | None = None) -> None:
        self._program, self._files = program, files
        self.binds_descriptors = binds_descriptors

    def build_command(self, program: Program, status_fd: int) -> list[str]:
        mounts = _all_mounts(program)
        hidden = resolve_hidden(program.hidden).values()
        masks = plan_masks([(mount.target, _real_source(mount)) for mount in mounts], hidden)
        directories = {place: secret.is_dir() for place, secret in masks.items()}
        targets = [mount.target for mount in mounts]
        view = bubblewrap.build_root(
            [target for target in targets if not _is_inside_another(target, [*targets, *masks])],
            lambda path: bubblewrap.read_directory(Path(path)),
        )
        # No --die-with-parent, because pods outlive the daemon. No --as-pid-1, because as process 1 a program without
        # a handler ignores SIGTERM.
        # Bubblewrap has no option for limits.
        limited = [] if self._files is None else ["/bin/sh", "-c", f'{_limit_files(self._files)}exec "$@"', "sh"]
        return [
            *limited,
            self._program,
            *view,
            *bubblewrap.build_devices(Path("/dev")),
            *bubblewrap.build_binds(mounts, directories, by_descriptor=self.binds_descriptors),
            *bubblewrap.NAMESPACES,
            *bubblewrap.PRIVILEGES,
            *("--hostname", program.host_name, "--json-status-fd", str(status_fd)),
            *("--chdir", program.directory, "--", *program.arguments),
        ]

    def find_process(self, text: str) -> Process | None:
        # It tells of process 1 of the namespace, its child, before it lets it run.
        namespace_init = bubblewrap.read_status(text).child
        return processes.read_parent(namespace_init) if namespace_init else None

    def read_exit(self, text: str) -> int | None:
        return bubblewrap.read_status(text).exit_code

    def find_program(self, pid: int, text: str) -> int | None:
        namespace_init = bubblewrap.read_status(text).child
        # SIGTERM would kill bubblewrap itself, and its process 1 ignores it: the program is the child of process 1.
        return processes.find_first_child(namespace_init) if namespace_init else None

    def find_namespace_init(self, text: str) -> int | None:
        return bubblewrap.read_status(text).child


def _limit_files(files: int | None) -> str:
    """A line of a shell's script: it gives programs a limit of open files that this process had, and raised for
    itself."""
    return "" if files is None else f"ulimit -S -n {files}; "


def _all_mounts(program: Program) -> tuple[Mount, ...]:
    own = [Mount(program.termination, program.termination_path)]
    if program.hosts is not None:
        own.append(Mount(program.hosts, "/etc/hosts", read_only=True))
    resolved = (replace(mount, target=_resolve(mount.target)) for mount in (*own, *program.mounts))
    # Of two at one path, the later one counts: those of the manifest come last.
    return tuple({mount.target: mount for mount in resolved}.values())


def _real_source(mount: Mount) -> Path:
    return Path(os.path.realpath(mount.source)) if mount.descriptor is None else real_path(mount.descriptor)


def _is_inside_another(target: str, others: Iterable[str]) -> bool:
    """Whether bubblewrap makes the mount point in another mount, not in the machine's file system."""
    return any(other != target and is_at_or_below(target, other) for other in others)


def _resolve(target: str) -> str:
    """The target without symbolic links: bubblewrap cannot create a mount point through one (/var/run)."""
    # /dev and /proc are made new inside, so the machine's links there say nothing.
    return target if target.startswith(("/dev/", "/proc/")) else os.path.realpath(target)


def find_sandbox(name: str) -> Sandbox | None:
    """The sandbox by its name, to read exit files and find processes of old runs. It need not work here now."""
    known: tuple[Sandbox, ...] = (Plain(), Bubblewrap("bwrap"))
    return next((sandbox for sandbox in known if sandbox.name == name), None)


class NoSandbox(Exception):
    """The requested sandbox does not work here; the message says why and what to do."""


def choose_sandbox(wanted: str = "auto", files: int | None = None) -> Sandbox:
    """`bubblewrap`, `none`, or `auto`: bubblewrap where it works. `files`: that a program may have open (the soft
    limit), where it is not to be this process's own. Blocks for about 10 ms. Raises `NoSandbox`."""
    if wanted not in ("auto", "bubblewrap", "none"):
        raise NoSandbox(f"sandbox {wanted!r} is unknown; there are auto, bubblewrap and none")
    if wanted == "none":
        return Plain(files=files)
    program = shutil.which("bwrap")
    # Trying takes about 10 ms, and no setting of a machine tells reliably whether namespaces work.
    problem = str(phrase("bubblewrap (bwrap) is not installed")) if program is None else _probe(program)
    if program is not None and not problem:
        return Bubblewrap(program, binds_descriptors=_binds_descriptors(program), files=files)
    if wanted == "bubblewrap":
        raise NoSandbox(f"{problem}; install it (apt install bubblewrap) or choose the sandbox none")
    return Plain(problem, files=files)


def _binds_descriptors(program: str) -> bool:
    """Whether this bubblewrap has --bind-fd: 0.10, or an older one that a distribution has mended (CVE-2024-42472).

    Without it, a path is bound that was checked a moment before, and another pod may change it in between.
    """
    try:
        return "--ro-bind-fd" in subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return False


def _probe(program: str) -> str:
    """Why bubblewrap does not work here, or ''. Tried with the same arguments as for pods."""
    view = bubblewrap.build_root((), lambda path: bubblewrap.read_directory(Path(path)))
    options = (*bubblewrap.build_devices(Path("/dev")), *bubblewrap.NAMESPACES, *bubblewrap.PRIVILEGES)
    words = [program, *view, *options, "--hostname", "try"]
    try:
        answer = subprocess.run([*words, "--", "/bin/sh", "-c", ":"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        return str(phrase("bubblewrap does not start: {why}", why=str(error)))
    return "" if answer.returncode == 0 else answer.stderr.strip() or f"bwrap ended with {answer.returncode}"
