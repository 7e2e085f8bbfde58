"""Programs that are asked for something, with a bound: nothing of them is left, as far as the kernel lets it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

_KILL_PATIENCE = 1.0
"""Seconds. A program that hangs in the kernel, as nvidia-smi does with a lost GPU, ends when its driver lets it."""


@dataclass(frozen=True, slots=True)
class Said:
    """`code`: the exit code, -N for signal N."""

    code: int
    out: str
    error: str


async def ask_program(*words: str, environ: Mapping[str, str], seconds: float) -> Said:
    """Runs it to its end. Raises OSError if it does not start, and TimeoutError."""
    process = await asyncio.create_subprocess_exec(
        *words, env=dict(environ), start_new_session=True, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            out, error = await process.communicate()
    finally:
        if process.returncode is None:
            await _end(process)
    return Said(process.returncode or 0, out.decode(errors="replace"), error.decode(errors="replace"))


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(_KILL_PATIENCE):
            await process.wait()
