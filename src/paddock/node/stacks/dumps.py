"""The two ways to the stacks of one process. Each hands back its threads, or the trouble that it met.

`PySpy` reads the memory of the process from outside, without stopping it (`--nonblocking`). Linux lets it do so as the
same user, or forbids it (Yama's `ptrace_scope` 1 lets ancestors alone, and py-spy is none).

`Faulthandler` asks the process itself, by a real-time signal that Paddock's module has taken in it
(`environments.stacks`). Such a signal kills a program that has no handler for it. So it is sent only where the
process has the module's file in memory open, whose name tells the signal, and where the kernel says that the signal is
caught.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from paddock.kube.pod_stacks import MOST_BYTES, Trouble
from paddock.logs.stack_dumps import Dump, UnreadableDump, judge_py_spy, read_faulthandler
from paddock.node.stacks.processes import Processes, Seen

FILE = "paddock-stacks-"
"""How the file in memory is called, with the number of the signal behind; `environments.stacks` makes it."""
_SECONDS, _END_SECONDS = 5.0, 1.0
_TRIES = 3
_LOOK_SECONDS = 0.05
_MOST_OWING = 1_000
_FileId = tuple[int, int]
"""The device and the inode of a file."""


class Way(Protocol):
    """A way to the stacks of a process."""

    name: str

    async def take(self, seen: Seen) -> Dump: ...


def find_py_spy(environment: Mapping[str, str]) -> str:
    """The py-spy that is installed with Paddock, else the one in PATH; empty if there is none."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy", path=environment.get("PATH")) or ""


class PySpy:
    """`program`: its path; empty where it is not installed."""

    name = "py-spy"

    def __init__(self, program: str, *, seconds: float = _SECONDS) -> None:
        self._program, self._seconds = program, seconds

    async def take(self, seen: Seen) -> Dump:
        if not self._program:
            return Dump((), Trouble.NO_TOOL)
        found = Dump((), Trouble.NO_ANSWER)
        for _ in range(_TRIES):
            found = await self._run(seen.pid)
            # A program that runs on may change what is being read.
            if found.trouble is not Trouble.FAILED:
                break
        return found

    async def _run(self, pid: int) -> Dump:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        words = ("dump", "--json", "--nonblocking", "--pid", str(pid))
        try:
            process = await asyncio.create_subprocess_exec(
                self._program, *words, stdin=nothing, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            return Dump((), Trouble.NO_TOOL, str(error))
        try:
            async with asyncio.timeout(self._seconds):
                assert process.stdout is not None and process.stderr is not None
                out, said = await asyncio.gather(_read(process.stdout), _read(process.stderr))
                if len(out) > MOST_BYTES:
                    return Dump((), Trouble.TOO_LONG)
                code = await process.wait()
        except TimeoutError:
            return Dump((), Trouble.NO_ANSWER)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await process.communicate()  # what is left in its pipes would keep them open
        return judge_py_spy(code, out.decode(errors="replace"), said.decode(errors="replace"))


async def _read(stream: asyncio.StreamReader) -> bytes:
    """One byte more than `MOST_BYTES` at most."""
    found = bytearray()
    while len(found) <= MOST_BYTES and (chunk := await stream.read(MOST_BYTES + 1 - len(found))):
        found += chunk
    return bytes(found)


class Faulthandler:
    """A dump does not say whose it is. A fork has its parent's file until it has made one of its own, and where an
    older module started it, for ever. So those that share a file are asked one after the other, and none while another
    owes its answer, which may come at any later time. Who owes one is not sent a second signal: its answer is waited
    for."""

    name = "faulthandler"

    def __init__(self, processes: Processes, *, proc: Path = Path("/proc"), seconds: float = _SECONDS) -> None:
        self._processes, self._proc, self._seconds = processes, proc, seconds
        self._turns: WeakValueDictionary[_FileId, asyncio.Lock] = WeakValueDictionary()
        self._owing: dict[_FileId, int] = {}
        """The process that was asked, and has not answered yet, by its file."""

    async def take(self, seen: Seen) -> Dump:
        """A fork that was looked at before it made its own file answers into that: it is asked once more."""
        found, which = await self._take(seen)
        moved = found.trouble is Trouble.NO_ANSWER and which is not None and not self._has(seen.pid, which)
        return (await self._take(seen))[0] if moved else found

    async def _take(self, seen: Seen) -> tuple[Dump, _FileId | None]:
        """And the file that it was asked by, if it was."""
        found = self._processes.find_file(seen.pid, FILE)
        signal = read_signal(found[1]) if found else None
        # Looked at again: since the first look it may have started another program in its own place.
        if found is None or signal is None:
            return Dump((), Trouble.NOT_ALLOWED), None
        # One that is blocked would wait, and end the program that takes the place of this one.
        now = self._processes.look(seen.pid)
        if not is_caught(now.caught, signal) or is_caught(now.blocked, signal):
            return Dump((), Trouble.NOT_ALLOWED), None
        try:
            file = _open_memory(self._proc / str(seen.pid) / "fd" / str(found[0]))
        except FileNotFoundError:
            return Dump((), Trouble.ENDED), None
        except OSError as error:
            return Dump((), Trouble.NOT_ALLOWED, str(error)), None
        try:
            which = _identify(os.fstat(file))
            async with self._turns.setdefault(which, asyncio.Lock()):
                return await self._ask(seen.pid, signal, file, which), which
        except ProcessLookupError:
            return Dump((), Trouble.ENDED), None
        except OSError as error:  # a program may have sealed a file of this name
            return Dump((), Trouble.NOT_ALLOWED, str(error)), None
        finally:
            os.close(file)

    async def _ask(self, pid: int, signal: int, file: int, which: _FileId) -> Dump:
        owing = self._owing.get(which)
        if owing is not None and (not self._has(owing, which) or await _is_quiet(file)):
            owing = None
        if owing is None:
            os.ftruncate(file, 0)
            os.kill(pid, signal)
            self._note_owing(which, pid)
        elif owing != pid:
            return Dump((), Trouble.NO_ANSWER)
        found = await self._wait(file)
        if found.trouble is not Trouble.NO_ANSWER:
            self._owing.pop(which, None)
        return found

    def _note_owing(self, which: _FileId, pid: int) -> None:
        if len(self._owing) >= _MOST_OWING:
            self._owing = {which: pid for which, pid in self._owing.items() if self._has(pid, which)}
        self._owing[which] = pid

    def _has(self, pid: int, which: _FileId) -> bool:
        """Whether the process is there, and has the file still."""
        found = self._processes.find_file(pid, FILE)
        with suppress(OSError):
            return found is not None and _identify((self._proc / str(pid) / "fd" / str(found[0])).stat()) == which
        return False

    async def _wait(self, file: int) -> Dump:
        """Until its text has come and grows no more."""
        before = 0
        for _ in range(round(self._seconds / _LOOK_SECONDS)):
            await asyncio.sleep(_LOOK_SECONDS)
            size = os.fstat(file).st_size
            if size > MOST_BYTES:
                os.ftruncate(file, 0)
                return Dump((), Trouble.TOO_LONG)
            if size and size == before:
                text = os.pread(file, MOST_BYTES, 0).decode(errors="replace")
                with suppress(UnreadableDump):
                    return Dump(read_faulthandler(text))
            before = size
        return Dump((), Trouble.NO_ANSWER)


def _identify(seen: os.stat_result) -> _FileId:
    return seen.st_dev, seen.st_ino


async def _is_quiet(file: int) -> bool:
    """Whether a text has come, late, and grows no more."""
    size = os.fstat(file).st_size
    if size:
        await asyncio.sleep(_LOOK_SECONDS)
    return size > 0 and os.fstat(file).st_size == size


def _open_memory(path: Path) -> int:
    """The file of a process, if it is one in memory. Raises OSError.

    The program chooses the name, and this opens with the rights of Paddock: a file with a place on the disk, a FIFO or
    a device is never written to."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    seen = os.fstat(file)
    if stat.S_ISREG(seen.st_mode) and seen.st_nlink == 0:
        return file
    os.close(file)
    raise PermissionError(f"{path} is no file in memory")


def read_signal(name: str) -> int | None:
    """The signal that the name of the file tells. None of a name of another form, and of a signal that is no real-time
    one: any of those has a meaning of its own. Pure."""
    number = name.removeprefix(FILE)
    return int(number) if number.isdecimal() and 34 <= int(number) <= 64 else None


def is_caught(caught: int, signal: int) -> bool:
    """Whether the mask SigCgt of proc(5) has the signal. Pure."""
    return bool(caught >> (signal - 1) & 1)
