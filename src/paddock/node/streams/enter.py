"""The program that starts a program of exec: it enters the container, and becomes the command there.

Run as `python -I -S -c SOURCE SOCKET RUN BIRTH INIT DROPPED TTY GROUPS DIRECTORY WORD…`, where SOURCE is the text of
this module, which imports nothing of Paddock. RUN is the process that the kubelet waits for, BIRTH its start time, INIT
process 1 of the container's PID namespace, 0 without one, DROPPED the capabilities (bits) that bubblewrap takes, GROUPS
the files by which the container's control groups are joined (a JSON list).
`node.streams.programs` reads what this tells on SOCKET: a JSON object in each line, the terminal's descriptor beside
the first. The socket is closed when the command runs.

What it must not do, and why it is built so:

- The container's variables are not its own: LD_PRELOAD would run a pod's code outside of the pod.
- Nothing is imported once it is inside, as a volume may lie over Python's own library.
- It has no more rights than the container's programs before one of them can see it: root in a pod may trace what has no
  more than itself.
- A user's bubblewrap makes two user namespaces, and the mounts belong to the outer one, so that is entered first.
- A process enters a PID namespace by its children alone: in bubblewrap it stays, outside, as the parent, and hands on
  the exit code. Both end with the daemon, to which their outputs go (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import functools
import json
import os
import resource
import signal
import socket
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

NOT_FOUND, NOT_EXECUTABLE = 127, 126

_CLONE_NEWUSER = 0x10000000
# From setns(2), prctl(2), ioctl_ns(2) and capabilities(7).
_NS_GET_USERNS = 0xB701
_PR_SET_PDEATHSIG, _PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 23, 24, 38, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR_ALL = 2, 4
_CAPABILITY_VERSION = 0x20080522
_LONGEST_ENVIRONMENT = 8 * 1024 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """What stands in the way: the step, and the error of the system."""

    def __init__(self, step: str, number: int, path: str = "") -> None:
        super().__init__(step)
        self.told = {"failed": step, "errno": number, "path": path}


class Told:
    """The end of the socket that tells the daemon."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)

    def tell(self, told: dict[str, object], descriptor: int | None = None) -> None:
        beside = [] if descriptor is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        with suppress(OSError):  # the daemon has gone, and this ends with it
            self._socket.sendmsg([json.dumps(told).encode() + b"\n"], beside)

    def close(self) -> None:
        self._socket.close()


class Order:
    """What is to be started, from the words of the command line."""

    def __init__(self, words: list[str]) -> None:
        self.run, self.birth, self.init, self.dropped, tty = map(int, words[:5])
        self.tty, self.groups, self.directory, self.command = bool(tty), json.loads(words[5]), words[6], words[7:]
        self.daemon = os.getppid()


def main(words: list[str]) -> int:
    told = Told(int(words[0]))
    try:
        return _start(told, Order(words[1:]))
    except Failure as failure:
        told.tell(failure.told)
        return NOT_EXECUTABLE


def _start(told: Told, order: Order) -> int:
    environment, limits = _read_environment(order.run), _read_limit(order.run)
    namespaces = Namespaces(order.init, order.dropped) if order.init else None
    # What was opened is that of the run only if the run still lives.
    if _read_birth(order.run) != order.birth or (order.init and _read_parent(order.init) != order.run):
        raise Failure("ended", errno.ESRCH)
    # The container may see other files there, so they are opened before; the program itself joins, not its attendant.
    doors = _open_doors(order.groups)
    for path in (sys.path, sys.meta_path, sys.path_hooks):
        path.clear()
    if namespaces is not None:
        namespaces.enter()
    os.umask(0o022)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    _end_with(order.daemon)
    terminal = _open_terminal(told) if order.tty else -1
    if order.tty:
        environment.setdefault(b"TERM", b"xterm")
    become = functools.partial(_become, order, environment, doors, terminal)
    if namespaces is None:
        return become()
    return _attend(told, become, {0, 1, 2, *doors, terminal} - {-1})


def _open_doors(groups: list[str]) -> list[int]:
    """A group that was removed meanwhile is none."""
    found = []
    for path in groups:
        with suppress(OSError):
            found.append(os.open(path, os.O_WRONLY))
    return found


def _attend(told: Told, become: Callable[[], int], unneeded: set[int]) -> int:
    own = os.getpid()
    try:
        child = os.fork()
    except OSError as error:  # ENOMEM: process 1 of the namespace has ended
        raise Failure("ended" if error.errno == errno.ENOMEM else "enter", error.errno or 0) from None
    if not child:
        try:
            os.setsid()
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            become()
        except Failure as failure:
            told.tell(failure.told)
        os._exit(NOT_EXECUTABLE)
    told.tell({"pid": child, "attendant": own})
    told.close()
    # Else a reader would not see that the program has closed its outputs.
    for descriptor in unneeded:
        os.close(descriptor)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(order: Order, environment: dict[bytes, bytes], doors: list[int], terminal: int) -> int:
    """Returns only by an exception: `Failure`."""
    for door in doors:
        with suppress(OSError):
            os.write(door, b"0")  # whoever writes it
        os.close(door)
    if terminal >= 0:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(terminal, number)
        if terminal > 2:
            os.close(terminal)
    try:
        os.chdir(order.directory)
    except OSError as error:
        raise Failure("directory", error.errno or 0, order.directory) from None
    # Python ignores two, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    first: OSError | None = None
    for path in _list_places(order.command[0], environment.get(b"PATH", b"")):
        try:
            os.execve(path, order.command, environment)  # noqa: S606 - what was asked for
        except OSError as error:
            # As execvp(3): one that may not be executed is told of where no other is found.
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES) or "/" in order.command[0]:
                raise _explain(error, path) from None
            if first is None and error.errno == errno.EACCES and os.path.isfile(path):  # noqa: PTH113
                first = error
    if first is not None:
        raise _explain(first, os.fsencode(order.command[0]))
    raise Failure("search", errno.ENOENT, environment.get(b"PATH", b"").decode(errors="replace"))


def _explain(error: OSError, path: bytes) -> Failure:
    step = "command"
    if error.errno == errno.ENOENT and os.path.lexists(path):
        step = "interpreter"
    elif os.path.isdir(path):  # noqa: PTH112
        step = "is directory"
    return Failure(step, error.errno or 0, path.decode(errors="replace"))


def _list_places(command: str, path: bytes) -> list[bytes]:
    name = os.fsencode(command)
    if b"/" in name:
        return [name]
    # An empty entry of PATH is the working directory (POSIX).
    return [b"%s/%s" % (place or b".", name) for place in path.split(b":")] if name else []


def _open_terminal(told: Told) -> int:
    """The program's side. Of the container's own /dev/pts, so that `tty` has its name; the other side goes to the
    daemon."""
    try:
        master, terminal = os.openpty()
    except OSError as error:
        raise Failure("terminal", error.errno or 0) from None
    told.tell({"terminal": True}, master)
    os.close(master)
    return terminal


class Namespaces:
    """Those of process 1 of a container, and the rights of its programs: what bubblewrap was started with, as this is,
    less `dropped` (bits of capabilities). Those of a process that is there say nothing, as it may have shed them."""

    def __init__(self, init: int, dropped: int) -> None:
        place = f"/proc/{init}/ns"
        try:
            # The PID namespace first, or last, is the same: it counts for children.
            self._others = [
                os.open(f"{place}/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in ("mnt", "pid", "ipc", "uts")
            ]
            self._user = os.open(f"{place}/user", os.O_RDONLY | os.O_CLOEXEC)
            self._status = _read_status(init)
            self._rights = int(_read_status("self")["CapPrm"], 16) & ~dropped
            self._owner = fcntl.ioctl(self._others[0], _NS_GET_USERNS)
        except OSError as error:
            step = "ended" if error.errno in (errno.ENOENT, errno.ESRCH) else "enter"
            raise Failure(step, error.errno or 0) from None

    def enter(self) -> None:
        now = os.stat("/proc/self/ns/user")  # noqa: PTH116
        if not _is_same(os.fstat(self._owner), now):
            self._set(self._owner, _CLONE_NEWUSER)
        for descriptor in self._others:
            self._set(descriptor)
        # A process cannot enter the one that it is in (EINVAL).
        if not _is_same(os.fstat(self._user), os.fstat(self._owner)):
            self._set(self._user, _CLONE_NEWUSER)
        for descriptor in (*self._others, self._user, self._owner):
            os.close(descriptor)
        self._drop_rights()

    def _set(self, descriptor: int, kind: int = 0) -> None:
        if _libc.setns(descriptor, kind):
            raise Failure("enter", ctypes.get_errno())

    def _drop_rights(self) -> None:
        for number in _list_bits(~int(self._status.get("CapBnd", "0"), 16)):
            if _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1:
                _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0))
        _check(_libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0))
        words = [self._rights >> shift & 0xFFFFFFFF for shift in (0, 32) for _ in range(3)]
        _check(_libc.capset((ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)(*words)))
        for number in _list_bits(self._rights):
            _check(_libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, number, 0, 0))
        if self._status.get("NoNewPrivs", "").strip() == "1":
            _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _list_bits(number: int) -> list[int]:
    return [bit for bit in range(64) if number >> bit & 1]


def _read_status(pid: int | str) -> dict[str, str]:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        return dict(line.split(":", 1) for line in file if ":" in line)


def _check(answer: int) -> None:
    if answer:
        raise Failure("enter", ctypes.get_errno())


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _end_with(daemon: int) -> None:
    # After the namespaces: a change of rights takes it back.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != daemon:
        os._exit(NOT_EXECUTABLE)


def _read_environment(pid: int) -> dict[bytes, bytes]:
    """Of a sandbox's own process: what the container was started with, whatever its program has made of it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            entries = file.read(_LONGEST_ENVIRONMENT).split(b"\0")
    except OSError as error:
        raise Failure("ended", error.errno or 0) from None
    return {name: value for name, equals, value in (entry.partition(b"=") for entry in entries) if name and equals}


def _read_limit(pid: int) -> tuple[int, int]:
    """How many files a program may have open. The daemon has raised its own."""
    try:
        return resource.prlimit(pid, resource.RLIMIT_NOFILE)
    except OSError:
        return resource.getrlimit(resource.RLIMIT_NOFILE)


def _read_stat(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _read_birth(pid: int) -> int:
    fields = _read_stat(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def _read_parent(pid: int) -> int:
    fields = _read_stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
