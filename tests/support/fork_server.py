"""Real `paddock` processes without a start of Python for each: a server that has imported all of Paddock forks them.

A forked command is a process as any other: its own number, exit code, signals, variables, directory and files. It does
not show a start: that a module imports what it uses, that the entry point is there. So `test_cold_start` and commands
that a shell starts go through the real one, as does a command whose environment changes how Python itself starts. All
that one server forks have the same order of sets: `PYTHONHASHSEED` is read when Python starts.

The server is one program, this file; the class `Forked` is how tests ask it. A request is one message of a socket: what
to run, and its open files. The answer comes through a pipe of the request's own: the process's number in four bytes,
then its exit status in four, as `subprocess` counts it.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NoReturn

_CLI, _LOCAL = "paddock.cli.main", "paddock.app.local"
_MOST = 200_000
"""Bytes of a request."""
_ROOM = 32_000
"""Bytes that a forked process has for its environment and its command where the kernel shows them (`_show`)."""
_STATUS_WAIT = 4.0
"""Seconds that a failed rank waits for the ends of the others (`Settings.status_wait`) on a cluster that is forked.
Many tests have a rank that fails beside one that never ends, and each of them would wait for the usual ten. All ends of
one machine come from one kubelet, by one clock, within a second; on a cluster they come from many. tests/kubernetes and
tests/jobs have the usual ten, on a clock of theirs."""
_HIGH = 200
"""Received files go above this number first: the numbers that they are to have may be taken."""
_NUMBER = struct.Struct("i")


def may_fork(environment: Mapping[str, str]) -> bool:
    """Whether a process of this environment would start as the server has: Python reads these before the first line."""
    decisive = {name: text for name, text in environment.items() if name.startswith(("PYTHON", "LC_", "LANG"))}
    ours = {name: text for name, text in os.environ.items() if name in decisive}
    return all(ours.get(name) == text or text.upper().endswith(("UTF-8", "UTF8")) for name, text in decisive.items())


if __name__ == "__main__":
    RUNNING: set[int] = set()  # the server itself asks for none
else:
    from support.process_state import RUNNING


class Forked:
    """A running `paddock WORDS`, with the part of `subprocess.Popen` that tests use.

    `files`: what each number is in the command; 0, 1 and 2 are to be among them.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        files: Mapping[int, int],
        directory: str | None = None,
    ) -> None:
        request = Request(_CLI, tuple(words), dict(environment), directory or os.getcwd(), False, tuple(files))
        self._answer = _ask(_find_server(), request, tuple(files.values()))
        self.pid = _read_number(self._answer)
        self.returncode: int | None = None
        RUNNING.add(self.pid)

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; minus the number of the signal that ended it. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            ready, _, _ = select.select([self._answer], [], [], timeout)
            if not ready:
                raise subprocess.TimeoutExpired("paddock", timeout or 0)
            self.returncode = _read_number(self._answer)
            os.close(self._answer)
            RUNNING.discard(self.pid)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ends just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    words: Sequence[str], environment: Mapping[str, str], seconds: float, directory: str | None = None
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with what it prints; standard input is empty."""
    with open(os.devnull, "rb") as nothing, _Pipe() as out, _Pipe() as err:
        forked = Forked(words, environment, {0: nothing.fileno(), 1: out.writer, 2: err.writer}, directory)
        texts = _read_all((out, err), time.monotonic() + seconds)
        if texts is None:
            forked.kill()
            forked.wait()
            raise subprocess.TimeoutExpired(["paddock", *words], seconds)
        return subprocess.CompletedProcess(["paddock", *words], forked.wait(seconds), *texts)


class _Pipe:
    def __enter__(self) -> _Pipe:
        self.reader, self.writer = os.pipe()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.reader)
        self.close_writer()

    def close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
        self.writer = -1


def _read_all(pipes: Sequence[_Pipe], deadline: float) -> tuple[str, ...] | None:
    """What comes through them until nobody writes; None if that is not before the deadline."""
    texts = {pipe.reader: bytearray() for pipe in pipes}
    for pipe in pipes:
        pipe.close_writer()
    open_ones = set(texts)
    while open_ones:
        ready, _, _ = select.select(list(open_ones), [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        for reader in ready:
            part = os.read(reader, 65536)
            texts[reader] += part
            if not part:
                open_ones.remove(reader)
    return tuple(bytes(text).decode(errors="replace") for text in texts.values())


@dataclass(frozen=True, slots=True)
class Request:
    """`files`: the numbers that the files sent along are to have. `session`: whether it leads a session of its own."""

    module: str
    words: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    session: bool
    files: tuple[int, ...]

    def write(self) -> bytes:
        values = (self.module, self.words, self.environment, self.directory, self.session, self.files)
        return json.dumps(values).encode()


def read_request(text: bytes) -> Request:
    module, words, environment, directory, session, files = json.loads(text)
    return Request(module, tuple(words), environment, directory, session, tuple(files))


def _ask(server: socket.socket, request: Request, files: Sequence[int]) -> int:
    """The end of the pipe that the answer comes through."""
    reader, writer = os.pipe()
    try:
        socket.send_fds(server, [request.write()], [writer, *files])
    finally:
        os.close(writer)
    return reader


def _read_number(answer: int) -> int:
    text = os.read(answer, _NUMBER.size)
    if len(text) < _NUMBER.size:
        raise RuntimeError("the server that forks commands has ended")
    found: int = _NUMBER.unpack(text)[0]
    return found


# The server, and the processes that it forks.

_server: list[tuple[int, socket.socket, int]] = []
"""The process that asks, how it asks, and what keeps the server alive: it ends when that is closed."""


def _find_server() -> socket.socket:
    if not _server or _server[0][0] != os.getpid():
        _server[:] = [(os.getpid(), *_start_server())]
    return _server[0][1]


def _start_server() -> tuple[socket.socket, int]:
    """The server is no child of the process that asks: what a test has started is what that process has as children."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    life, ours_alive = os.pipe()
    started = {name: text for name, text in os.environ.items() if name.startswith(("PATH", "PYTHON", "LC_", "LANG"))}
    with theirs:
        subprocess.run(
            [sys.executable, __file__, str(theirs.fileno()), str(life), str(ours.fileno()), " " * _ROOM],
            env={**started, "ROOM": " " * _ROOM}, pass_fds=(theirs.fileno(), life, ours.fileno()), check=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    os.close(life)
    return ours, ours_alive


def serve(requests: socket.socket, life: int) -> Request | None:
    """Returns in each process that it forks, with what that one is to run; at the end of its life with None."""
    running: dict[int, tuple[int, int]] = {}
    """By the file that is ready when a process has ended: its number, and where to tell."""
    while True:
        ready, _, _ = select.select([requests.fileno(), life, *running], [], [])
        for file in ready:
            if file == requests.fileno():
                request = _fork(requests, running)
                if request is not None:
                    return request
            elif file == life:
                return None
            else:
                _tell_end(file, *running.pop(file))


def _fork(requests: socket.socket, running: dict[int, tuple[int, int]]) -> Request | None:
    text, received, _, _ = socket.recv_fds(requests, _MOST, 16)
    request = read_request(text)
    answer, *files = received
    pid = os.fork()
    if pid == 0:
        answer = fcntl.fcntl(answer, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        try:
            _become(request, files, answer)
        finally:
            os.write(answer, _NUMBER.pack(os.getpid()))  # now it is what was asked for, and may be looked at
            os.close(answer)
        return request
    for file in files:
        os.close(file)
    running[os.pidfd_open(pid)] = pid, answer
    return None


def _tell_end(file: int, pid: int, answer: int) -> None:
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(answer, _NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os.close(answer)
    os.close(file)


def _become(request: Request, files: Sequence[int], answer: int) -> None:
    """What a new process has from its parent. The socket for requests stays open: a command may start a cluster."""
    if request.session:
        os.setsid()
    asks = _server[0][1].detach()
    high = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _HIGH) for file in (*files, asks)]
    for file, number in zip(high, request.files, strict=False):
        os.dup2(file, number)
    for number in set(range(3, max(high))) - {*request.files, answer, high[-1]}:
        with suppress(OSError):
            os.close(number)
    _server[:] = [(os.getpid(), socket.socket(fileno=high[-1]), -1)]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environment)
    _show([sys.executable, "-m", request.module, *request.words], request.environment)
    sys.argv = [sys.modules[request.module].__file__ or "", *request.words]
    sys.path[0] = request.directory
    _open_streams()


def _open_streams() -> None:
    """As Python does when it starts."""
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False, errors="strict")  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        2, "w", closefd=False, errors="backslashreplace", buffering=1
    )


def _show(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Writes the memory that the kernel shows as `/proc/PID/cmdline` and `environ`: what Python was started with.

    Nothing uses that memory any more: the variables have just been set anew.
    """
    import ctypes

    with open("/proc/self/stat", encoding="ascii") as file:
        numbers = file.read().rpartition(")")[2].split()
    places = [int(numbers[field - 3]) for field in (48, 49, 50, 51)]  # proc(5): arg_start, arg_end, env_start, env_end
    words = b" ".join(os.fsencode(word) for word in command)
    variables = b"".join(os.fsencode(f"{name}={text}") + b"\0" for name, text in environment.items())
    for start, end, said in zip(places[::2], places[1::2], (words, variables), strict=True):
        if len(said) > end - start - 2:
            raise ValueError(f"{len(said)} bytes of words or variables; there is room for {end - start - 2}")
        ctypes.memmove(start, said.ljust(end - start, b"\0"), end - start)
    # Where the last byte is none, the kernel shows what stands before the first one: no empty words follow.
    ctypes.memmove(places[1] - 1, b" ", 1)


def spawn(command: Sequence[str], *, stdout: Any, pass_fds: Sequence[int], **_: Any) -> _Spawned:
    """`subprocess.Popen` of `app.launch`: the local cluster's process is forked as well."""
    module, *words = command[2:]
    with open(os.devnull, "rb") as nothing:
        files = {0: nothing.fileno(), 1: stdout.fileno(), 2: stdout.fileno(), **{each: each for each in pass_fds}}
        request = Request(module, tuple(words), dict(os.environ), "/", True, tuple(files))
        answer = _ask(_find_server(), request, tuple(files.values()))
    return _Spawned(_read_number(answer), answer)


class _Spawned:
    def __init__(self, pid: int, answer: int) -> None:
        self.pid, self._answer = pid, answer

    def wait(self, timeout: float) -> None:
        if not select.select([self._answer], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("the cluster", timeout)

    def __del__(self) -> None:
        os.close(self._answer)


LAUNCHING = SimpleNamespace(Popen=spawn, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
"""Stands for `subprocess` in `paddock.app.launch`."""


def _import_all() -> None:
    import pkgutil
    from importlib import import_module

    import paddock

    for found in pkgutil.walk_packages(paddock.__path__, "paddock."):
        if ".programs" not in found.name and not found.name.endswith("__main__"):
            import_module(found.name)


def _serve_and_run(requests: int, life: int, asks: int) -> NoReturn:
    import gc

    sys.path.pop(0)
    sys.path.insert(0, "")
    _import_all()
    if os.fork():  # who has started this one waits for no longer
        os._exit(0)
    _server[:] = [(os.getpid(), socket.socket(fileno=asks), -1)]
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the tests, which end what they have started
    with socket.socket(fileno=requests) as opened:
        request = serve(opened, life)
        opened.detach()
    if request is None:
        os._exit(0)
    from paddock.app import launch, local
    from paddock.cli.main import main

    build = local.build_settings
    local.build_settings = lambda outputs: replace(build(outputs), status_wait=_STATUS_WAIT)
    launch.subprocess = LAUNCHING  # type: ignore[attr-defined]
    entries: Mapping[str, Callable[[], Any]] = {_CLI: main, _LOCAL: lambda: local.main(sys.argv[1:])}
    _end(entries[request.module])


def _end(main: Callable[[], Any]) -> NoReturn:
    """As Python ends, without taking every object of every module to pieces, which costs more than most commands do."""
    import atexit
    import threading

    try:
        ended: object = main()
    except SystemExit as raised:
        ended = raised.code
    # Python reports a Ctrl-C that comes now, and ends with the code of what was run.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not isinstance(ended, int | None):
        print(ended, file=sys.stderr)
    code = ended if isinstance(ended, int) else int(ended is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError):
        sys.stderr.flush()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    os._exit(code & 255)


if __name__ == "__main__":
    _serve_and_run(*(int(word) for word in sys.argv[1:4]))
