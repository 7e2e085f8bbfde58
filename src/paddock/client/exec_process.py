"""Runs a credential plug-in: one process, never a shell. Thin.

Standard output goes to a pipe, and standard error too unless the user may be asked: then both ends of a login are the
user's own terminal, as with kubectl. The pipes are ours and not asyncio's, whose `wait` waits, in some versions of
Python, for whoever has inherited them: a plug-in may leave an agent behind.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from paddock.client.exec_failures import ERROR_BYTES, OUTPUT_BYTES, SECONDS, Ended

_Stopped: TypeAlias = Literal["", "seconds", "bytes"]
_LINGER_SECONDS = 1.0
"""How long after the plug-in's end the pipes are read while somebody else holds them open."""


def find_program(command: str, path: str) -> str | None:
    """The program of a command without a slash; one with a slash is a path already. As in Go, a directory of PATH
    that is not absolute is left out: a program of the working directory is not meant."""
    if "/" in command:
        return command if Path(command).exists() else None
    directories = [each for each in path.split(os.pathsep) if Path(each).is_absolute()]
    return shutil.which(command, path=os.pathsep.join(directories)) if directories else None


async def run_plugin(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    interactive: bool,
    detached: bool = False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Ended:
    """Raises OSError if the program does not start. `interactive`: standard input and standard error are those of
    this process, and there is no limit of time. `detached`: in a session of its own, without this process's terminal,
    and killed with its children. A caller that is cancelled kills it."""
    output, errors = _Output(OUTPUT_BYTES), _Tail(ERROR_BYTES)
    stopped: _Stopped = ""
    async with _open_pipe(output) as out, _open_pipe(errors) as err:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env=dict(environment),
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=None if interactive else err,
                start_new_session=detached,
            )
        finally:  # the end of the plug-in alone ends the pipes then
            os.close(out)
            os.close(err)
        try:
            stopped = await _wait(process, output, None if interactive else sleep(SECONDS))
        finally:
            if process.returncode is None:
                _kill(process.pid, detached=detached)
                await process.wait()
        if not stopped:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LINGER_SECONDS):
                    await asyncio.gather(output.closed.wait(), errors.closed.wait())
    return Ended(process.returncode or 0, bytes(output.data), None if interactive else bytes(errors.data), stopped)


class _Output(asyncio.Protocol):
    """What comes out of a pipe. `full`: it was more than `most` bytes."""

    def __init__(self, most: int) -> None:
        self.data, self._most = bytearray(), most
        self.full, self.closed = asyncio.Event(), asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.data += data
        if len(self.data) > self._most:
            self.full.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set()


class _Tail(_Output):
    """Keeps the last `most` bytes."""

    def data_received(self, data: bytes) -> None:
        self.data += data
        del self.data[: -self._most]


@asynccontextmanager
async def _open_pipe(reader: _Output) -> AsyncIterator[int]:
    """The end to write into, which the caller closes."""
    reading, writing = os.pipe()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: reader, os.fdopen(reading, "rb", 0))
    try:
        yield writing
    finally:
        transport.close()


async def _wait(process: asyncio.subprocess.Process, output: _Output, limit: Awaitable[None] | None) -> _Stopped:
    """Until the plug-in has ended or a limit is reached."""
    ended, full = asyncio.ensure_future(process.wait()), asyncio.ensure_future(output.full.wait())
    waited: list[asyncio.Future[Any]] = [ended, full, *([asyncio.ensure_future(limit)] if limit else [])]
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if output.full.is_set():
            return "bytes"
        return "" if ended.done() else "seconds"
    finally:
        for each in waited:
            each.cancel()


def _kill(pid: int, *, detached: bool) -> None:
    with suppress(ProcessLookupError):
        if detached:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
