"""The child process that fetches one dataset on this machine, from its start to its last report. I/O.

Its request goes by its standard input, as it may hold a Secret: arguments and variables of a process are seen by others
of the machine. A child whose controller was killed ends by itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from paddock.datasets.fetching import Failed, Fault, Fetched, Progress, Request, read_report
from paddock.words.phrases import phrase

_GRACE_SECONDS = 5.0
_LOG_BYTES = 1 << 20
_LINE_BYTES = 1 << 20


async def run_child(
    request: Request, environ: Mapping[str, str], log: Path, tell: Callable[[Progress], None]
) -> Fetched | Failed:
    """Runs a child to its end. One that ended without a word has failed. When this is cancelled, the child is ended.
    `log`: takes what it prints besides its reports."""
    last: Fetched | Failed | None = None
    async with _start(request, environ, log) as child:
        assert child.stdout is not None
        async for line in child.stdout:
            match read_report(line):
                case Progress() as progress:
                    tell(progress)
                case Fetched() | Failed() as end:
                    last = end
        code = await child.wait()
    return last or Failed(message=_explain_code(code, log), fault=Fault.MACHINE)


def _explain_code(code: int, log: Path) -> str:
    if code < 0:
        said = phrase(
            "the process that fetches ended by signal {signal}, without a word; what it printed is in {path}",
            signal=-code, path=str(log),
        )  # fmt: skip
    else:
        said = phrase(
            "the process that fetches ended with exit code {code}, without a word; what it printed is in {path}",
            code=code, path=str(log),
        )  # fmt: skip
    return str(said)


@asynccontextmanager
async def _start(request: Request, environ: Mapping[str, str], log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process, which has ended afterwards."""
    with _open_log(log) as errors:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "paddock.datasets.fetch",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
            env=environ, limit=_LINE_BYTES, start_new_session=True,
        )  # fmt: skip
    try:
        assert child.stdin is not None
        child.stdin.write(msgspec.json.encode(request))
        with suppress(ConnectionError):
            await child.stdin.drain()
        child.stdin.close()
        yield child
    finally:
        await _end(child)


async def _end(child: asyncio.subprocess.Process) -> None:
    for send in (child.terminate, child.kill):
        if child.returncode is not None:
            break
        with suppress(ProcessLookupError):
            send()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await child.wait()


def _open_log(log: Path) -> IO[bytes]:
    """Begun anew when it is large."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    large = log.exists() and log.stat().st_size > _LOG_BYTES
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if large else 0)
    return os.fdopen(os.open(log, flags, 0o600), "ab")
