"""Programs that a source needs, as git: started without a shell, and ended with this process. I/O."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.datasets.fetch.failures import NoProgram

_GUARD = str(Path(__file__).parent / "programs" / "guard.py")
_PR_SET_PDEATHSIG = 1
_KEPT_BYTES = 16 << 10
"""Of what a program says about an error."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended."""

    code: int  # its exit code, above 128 for a signal
    output: bytes
    said: str  # the end of its standard error, without its progress


async def run_program(
    words: Sequence[str],
    environ: Mapping[str, str],
    *,
    given: bytes = b"",
    read: Callable[[str], bool] = lambda line: False,
    read_output: Callable[[bytes], None] | None = None,
) -> Ended:
    """Runs to the end. `given`: its standard input. `read` gets each line of its standard error, also those that end
    with a carriage return, and returns whether it was one of progress. `read_output` gets each line of its standard
    output, which is kept where it is absent. Raises `NoProgram`."""
    if shutil.which(words[0], path=environ.get("PATH")) is None:
        raise NoProgram(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", _GUARD, *words),
        stdin=PIPE if given else DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(environ),
        preexec_fn=_end_with_parent,
        start_new_session=True,
        limit=1 << 20,
    )
    try:
        output, said, _ = await asyncio.gather(
            _read_output(process.stdout, read_output), _read_lines(process.stderr, read), _give(process.stdin, given)
        )
        return Ended(await process.wait(), output, said)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _end_with_parent() -> None:
    """In the new process, before its program: Linux tells it when this process ends, also by SIGKILL."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


_LIBC = ctypes.CDLL(None)


async def _give(stream: asyncio.StreamWriter | None, given: bytes) -> None:
    if stream is not None:
        with suppress(BrokenPipeError, ConnectionResetError):
            stream.write(given)
            await stream.drain()
        stream.close()


async def _read_output(stream: asyncio.StreamReader | None, read: Callable[[bytes], None] | None) -> bytes:
    assert stream is not None
    if read is None:
        return await stream.read()
    async for line in stream:
        read(line)
    return b""


async def _read_lines(stream: asyncio.StreamReader | None, read: Callable[[str], bool]) -> str:
    assert stream is not None
    kept, rest = "", b""
    while block := await stream.read(8192):
        *lines, rest = (rest + block).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            if text.strip() and not read(text):
                kept = (kept + text + "\n")[-_KEPT_BYTES:]
    return kept + rest.decode(errors="replace")
