"""A program of exec: starts it in a container, and ends it when its client has gone.

What starts it is `enter`, a small Python in a process of its own, as a namespace is entered by a process with one
thread. It takes the container's variables, working directory and rights from the sandbox's own process, so they are
those of the start, whatever the program has made of them since.

The program leads a session. It is no descendant of the container's first process: nobody takes it for what trains. Its
variables have the pod's marks, so it ends with its container (`node.runtime.orphans`; in bubblewrap by the kernel).
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from paddock.kube.errors import BadRequest, InternalError
from paddock.kube.pod_streams import STDERR, STDIN, STDOUT, Ended, Size, StreamRequest
from paddock.node.runtime import bubblewrap, processes
from paddock.node.runtime.processes import ExitWatcher, Process
from paddock.node.streams import enter
from paddock.node.streams.channels import Input, Outputs
from paddock.words.phrases import phrase

_HANGUP_SECONDS = 1.0
"""From SIGHUP to SIGKILL, when a client has gone."""
_KILL_SECONDS = 5.0
_POLL_SECONDS = 0.02
_SETTLE_SECONDS = 0.5
"""Until a program that was killed is told apart from one whose container has ended."""
_KILLED = 128 + signal.SIGKILL
_START_SECONDS = 30.0
"""Until a program runs. A file system that does not answer may hold one for ever."""
_TOLD_BYTES = 65536
_LONGEST_PATH = 120
# capabilities(7), linux/capability.h
_CAPABILITIES = {"CAP_DAC_READ_SEARCH": 2, "CAP_SYS_ADMIN": 21}
_DROPPED = sum(1 << _CAPABILITIES[word] for word in bubblewrap.PRIVILEGES if word != "--cap-drop")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program is to run: a container that runs."""

    pod: str
    container: str
    run: Process
    """The sandbox's own process, with the variables of the start."""
    init: int
    """Process 1 of its PID namespace; 0 without one."""
    directory: str
    """The working directory, as the container sees it."""
    groups: tuple[str, ...] = ()
    """The files by which its control groups are joined."""


class Program:
    """A program of exec that was started, or that could not be: a `Session` of `kube.pod_streams`. `forget` is called
    once, when its client has gone and nothing of it is left."""

    def __init__(self, place: Place, started: _Started, watcher: ExitWatcher, forget: Callable[[], None]) -> None:
        self.place, self.leader = place, started.leader
        self._child, self._reason = started.child, started.reason
        self._outputs, self._input, self._terminal = started.outputs, started.input, started.terminal
        self._forget = forget
        self._ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._closing: asyncio.Task[None] | None = None
        self._cutting: asyncio.Task[None] | None = None
        watcher.watch(Process(self._child.pid, processes.read_birth(self._child.pid) or 0), self._finish)
        # Of its own, as a watcher has each process once.
        self._container = ExitWatcher()
        self._container.watch(place.run, self._outlive)

    @property
    def has_ended(self) -> bool:
        return self._ended.done()

    async def read(self) -> tuple[int, bytes] | None:
        return await self._outputs.read()

    async def write(self, data: bytes) -> None:
        if self._input is not None:
            await self._input.write(data)

    def close_input(self) -> None:
        # A terminal has no half to close: what was typed before may still be read, and the other side is the same.
        if self._input is not None and not self._terminal:
            self._input.close()

    def resize(self, size: Size) -> None:
        # As a kubelet, which passes over sizes of a terminal that is just opened or closed.
        if not self._terminal or size.width < 1 or size.height < 1:
            return
        width, height = min(size.width, 0xFFFF), min(size.height, 0xFFFF)
        for descriptor in self._outputs.descriptors:
            with suppress(OSError):
                fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def wait(self) -> Ended:
        ended = await asyncio.shield(self._ended)
        if ended.code != _KILLED or ended.message or self._closing is not None:
            return ended
        # The kernel ends a namespace in one moment, and its first process is not always seen first.
        for _ in range(int(_SETTLE_SECONDS / _POLL_SECONDS)):
            if not processes.is_alive(self.place.run):
                said = phrase("container {name} has ended, and with it what ran in it", name=self.place.container)
                return Ended(ended.code, str(said))
            await asyncio.sleep(_POLL_SECONDS)
        return ended

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        # Who waits may be cancelled, and what runs is ended all the same.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            if self._input is not None:
                self._input.drop()
            # Of a terminal, this is what hangs up.
            self._outputs.close()
            if not self._ended.done():
                await self._end()
        finally:
            self._forget()

    def _outlive(self) -> None:
        """Its container has ended. What has the pod's mark is ended by the kubelet; a program may have cleared it."""
        if not self.has_ended and not processes.belongs_to_pod(self.leader.pid, self.place.pod):
            self._cutting = asyncio.create_task(self._cut())

    async def _end(self) -> None:
        if processes.is_alive(self.leader):
            _signal(-self.leader.pid, signal.SIGHUP)
        with suppress(TimeoutError):
            async with asyncio.timeout(_HANGUP_SECONDS):
                await asyncio.shield(self._ended)
        await self._cut()

    async def _cut(self) -> None:
        deadline = asyncio.get_running_loop().time() + _KILL_SECONDS
        # Whatever else is in its session has heard of it. What has begun one of its own is the container's.
        while (members := await asyncio.to_thread(_find_members, self.leader)) or not self._ended.done():
            for pid in members:
                _signal(pid, signal.SIGKILL)
            # A program that has become another user's (sudo, without a sandbox) takes no signals from here.
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _finish(self) -> None:
        self._container.close()
        code = self._child.wait()
        self._ended.set_result(self._reason or Ended(code if code >= 0 else 128 - code))
        self._outputs.end()
        if self._input is not None:
            self._input.drop()


@dataclass(frozen=True, slots=True)
class _Started:
    child: subprocess.Popen[bytes]
    """The program itself, or its attendant outside of its namespace, which ends as it does."""
    leader: Process
    """The program, as this machine numbers it."""
    outputs: Outputs
    input: Input | None
    terminal: bool
    reason: Ended | None = None
    """Why nothing runs."""


async def start_program(
    place: Place, request: StreamRequest, watcher: ExitWatcher, forget: Callable[[], None]
) -> Program:
    """Starts `request.command`. Of one that cannot be started, the `Program` has ended with 126 or 127 and says why.
    `forget`: see `Program`. Raises BadRequest, InternalError; then `forget` is not called."""
    with ExitStack() as undo:
        ours, theirs = socket.socketpair()
        undo.callback(ours.close)
        undo.callback(theirs.close)
        pipes = _Pipes(request, undo)
        try:
            child = _spawn(place, request, theirs.fileno(), pipes)
        finally:
            theirs.close()
            pipes.close_given()
        try:
            told = await _hear_in_time(ours, undo, place)
            reason = _judge(told, request.command, place)
        except BaseException:
            child.kill()
            # Not waited for: one that the kernel holds (state D) ends later, or never.
            watcher.watch(Process(child.pid, processes.read_birth(child.pid) or 0), lambda: _reap(child))
            raise
        pid = told.get("pid", child.pid)
        # Without one, it has ended since, and is never signalled.
        leader = Process(pid, processes.read_birth(pid) or -1)
        terminal = told.get("terminal")
        if terminal is not None:
            outputs = Outputs({terminal: STDOUT})
            # Of its own, so that each side closes what it has.
            input = Input(os.dup(terminal)) if request.stdin else None
        else:
            outputs = Outputs({pipes.ours[channel]: channel for channel in (STDOUT, STDERR) if channel in pipes.ours})
            input = Input(pipes.ours[STDIN]) if STDIN in pipes.ours else None
        undo.pop_all()
    ours.close()
    return Program(place, _Started(child, leader, outputs, input, terminal is not None, reason), watcher, forget)


class _Pipes:
    """The three pipes, each only if it is asked for. `ours` are the daemon's ends, by channel; `undo` closes them."""

    def __init__(self, request: StreamRequest, undo: ExitStack) -> None:
        self.ours: dict[int, int] = {}
        self.given: dict[int, int] = {}
        wanted = {STDIN: request.stdin, STDOUT: request.stdout, STDERR: request.stderr}
        try:
            for channel in () if request.tty else (channel for channel, asked in wanted.items() if asked):
                reading, writing = os.pipe()
                ours, given = (writing, reading) if channel == STDIN else (reading, writing)
                self.ours[channel], self.given[channel] = ours, given
                undo.callback(os.close, ours)
        except OSError as error:
            self.close_given()
            raise _explain_machine(error) from error

    def close_given(self) -> None:
        for descriptor in self.given.values():
            os.close(descriptor)


def _spawn(place: Place, request: StreamRequest, told: int, pipes: _Pipes) -> subprocess.Popen[bytes]:
    numbers = (told, place.run.pid, place.run.birth, place.init, _DROPPED, int(request.tty))
    words = [*map(str, numbers), json.dumps(place.groups), place.directory]
    stdin, stdout, stderr = (pipes.given.get(channel, subprocess.DEVNULL) for channel in (STDIN, STDOUT, STDERR))
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _read_source(), *words, *request.command],
            env={},
            cwd="/",
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(told,),
            start_new_session=True,
        )
    except ValueError as error:  # a NUL
        raise BadRequest(f"command: {error}") from error
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise _explain_machine(error) from error
        size = sum(len(word.encode(errors="surrogateescape")) for word in request.command)
        said = phrase("exec: argument list too long: the command has {number} bytes", number=size)
        raise BadRequest(str(said)) from error


def _reap(child: subprocess.Popen[bytes]) -> None:
    child.poll()


async def _hear_in_time(ours: socket.socket, undo: ExitStack, place: Place) -> dict[str, Any]:
    """Raises InternalError of one that does not start."""
    try:
        async with asyncio.timeout(_START_SECONDS):
            return await _hear(ours, undo)
    except TimeoutError:
        said = phrase(
            "container {name}: the command was not started within {number} seconds, and is ended; a file system of the "
            "container may not answer",
            name=place.container, number=int(_START_SECONDS),
        )  # fmt: skip
        raise InternalError(str(said)) from None


async def _hear(ours: socket.socket, undo: ExitStack) -> dict[str, Any]:
    """What the start program tells, with the descriptor of the terminal as "terminal". Returns when the command runs,
    or never will."""
    ours.setblocking(False)
    text, told = b"", dict[str, Any]()
    while True:
        try:
            data, files, _, _ = socket.recv_fds(ours, _TOLD_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            await _wait_readable(ours.fileno())
            continue
        except ConnectionError:
            data, files = b"", []
        for descriptor in files:
            undo.callback(os.close, descriptor)
            told["descriptor"] = descriptor
        if not data:
            break
        text += data
    for line in text.splitlines():
        told |= json.loads(line)
    if told.pop("terminal", None):
        told["terminal"] = told["descriptor"]
    return told


async def _wait_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


def _judge(told: Mapping[str, Any], command: Sequence[str], place: Place) -> Ended | None:
    """Why the command does not run; None if it does. Raises BadRequest, InternalError where it is not its own fault."""
    step, number, path = told.get("failed"), int(told.get("errno", 0)), str(told.get("path", ""))
    if step is None:
        return None
    if step == "ended":
        raise BadRequest(str(phrase("container {name} has ended", name=place.container)))
    if step in ("enter", "terminal"):
        why = os.strerror(number)
        if step == "terminal":
            said = phrase("container {name}: no terminal can be made: {why}", name=place.container, why=why)
        else:
            said = phrase("container {name}: its namespaces cannot be entered: {why}", name=place.container, why=why)
        raise InternalError(str(said))
    return explain_command(step, number, path, command[0])


def explain_command(step: str, number: int, path: str, command: str) -> Ended:
    """In container engines' words, as `node.runtime.containers.explain_command` has them, with the codes of a shell."""
    missing = number in (errno.ENOENT, errno.ENOTDIR)
    code = enter.NOT_FOUND if missing else enter.NOT_EXECUTABLE
    if step == "search":
        return Ended(code, f'exec: "{command}": executable file not found in $PATH ({_shorten(path)})')
    if step == "directory":
        said = phrase(
            "working directory {path} cannot be entered: {why}", path=repr(path), why=os.strerror(number).lower()
        )
        return Ended(enter.NOT_EXECUTABLE, str(said))
    if step == "interpreter":
        said = phrase("exec: {path} names a program in its first line that is not there", path=f'"{path}"')
        return Ended(code, str(said))
    if step == "is directory":
        return Ended(enter.NOT_EXECUTABLE, f'exec: "{path}": is a directory')
    return Ended(code, f'exec: "{path}": {os.strerror(number).lower()}')


def _shorten(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}…"


def _explain_machine(error: OSError) -> InternalError:
    said = phrase("this machine cannot start one program more: {why}", why=error.strerror or str(error))
    return InternalError(str(said))


def _find_members(leader: Process) -> list[int]:
    """The processes of its session."""
    # Its number is not given anew while one of its session lives.
    if processes.read_birth(leader.pid) not in (None, leader.birth):
        return []
    return [pid for pid in processes.list_processes() if processes.read_session(pid) == leader.pid]


def _signal(target: int, number: signal.Signals) -> None:
    with suppress(PermissionError):
        processes.send_signal(target, number)


@cache
def _read_source() -> str:
    """Kept from the first use: an upgrade may exchange the file beneath this process."""
    return Path(enter.__file__).read_text()
