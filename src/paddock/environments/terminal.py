"""Runs one program on its own pseudo-terminal. I/O.

uv shows the bytes of downloads only on a terminal. The terminal also ties the child to this process: when Paddock dies,
even by kill -9, the terminal hangs up and the child ends (SIGHUP), so no build continues alone.

If the caller is cancelled, the child's whole session is killed before the call returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import struct
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_LOGIN = """import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.login_tty(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Makes the terminal the child's controlling terminal, which only the child itself can do. A cluster that was started
under nohup ignores SIGHUP, and its children would inherit that."""

# Rows: more bars than uv downloads at once. Columns: uv wraps its errors at this width.
_ROWS, _COLUMNS = 100, 240


async def run_on_terminal(
    command: Sequence[str], environ: Mapping[str, str], directory: Path, on_text: Callable[[str], None] | None = None
) -> tuple[int, str]:
    """The exit code (negative: the signal) and the whole output. `on_text` receives the output in chunks as it is
    written; an exception of `on_text` ends the program and is raised here."""
    parent_end, child_end = os.openpty()
    fcntl.ioctl(child_end, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    os.set_blocking(parent_end, False)
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _LOGIN, str(child_end), *command,
            stdin=asyncio.subprocess.DEVNULL, env=dict(environ), cwd=directory, pass_fds=(child_end,),
        )  # fmt: skip
    except BaseException:
        os.close(parent_end)
        raise
    finally:
        os.close(child_end)
    try:
        chunks = await _read_all(parent_end, child, on_text)
        return await child.wait(), b"".join(chunks).decode(errors="replace")
    finally:
        os.close(parent_end)
        if child.returncode is None:
            _kill(child.pid)
            await child.wait()


async def read_output(command: Sequence[str], environ: Mapping[str, str]) -> bytes:
    """A program's standard output, without a terminal; standard error is dropped. A cancelled caller kills it."""
    child = await asyncio.create_subprocess_exec(
        *command, env=dict(environ), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await child.communicate()
        return output
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _read_all(
    terminal: int, child: asyncio.subprocess.Process, on_text: Callable[[str], None] | None
) -> list[bytes]:
    """Reads until the last process on the terminal closes it, or the child has ended and no output is left."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    chunks: list[bytes] = []

    def read() -> bool:
        try:
            chunk = os.read(terminal, 65536)
        except BlockingIOError:
            return False
        except OSError:
            # Linux answers EIO when the other side is closed.
            chunk = b""
        if not chunk:
            loop.remove_reader(terminal)
            if not ended.done():
                ended.set_result(None)
            return False
        chunks.append(chunk)
        try:
            if on_text is not None:
                on_text(chunk.decode(errors="replace"))
        except Exception as error:
            loop.remove_reader(terminal)
            ended.set_exception(error)
            return False
        return True

    loop.add_reader(terminal, read)
    exit_ = asyncio.ensure_future(child.wait())
    try:
        await asyncio.wait(set[asyncio.Future[Any]]((ended, exit_)), return_when=asyncio.FIRST_COMPLETED)
        # The child has ended, but a process that it left may keep the terminal open: read only what is there.
        while not ended.done() and read():
            pass
        if ended.done():
            ended.result()
    finally:
        loop.remove_reader(terminal)
        exit_.cancel()
    return chunks


def _kill(pid: int) -> None:
    """Kills the child and its process group."""
    # Before the child has created its session, the group does not exist yet: the child is killed by itself first.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def plain_text(output: str) -> str:
    """The text that is visible at the end: without colours, cursor movements and overwritten lines.

    A colour sequence keeps its line (Python 3.13 colours its tracebacks); any other sequence overwrites the line.
    """
    lines = []
    without_colours = re.sub(r"\x1b\[[0-9;:]*m", "", output)
    for line in re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "\r", without_colours).split("\n"):
        parts = [part.rstrip() for part in line.split("\r") if part.strip()]
        lines.append(parts[-1] if parts else "")
    text = "\n".join(re.sub(r"^[\u2800-\u28ff] Resolving dependencies\.\.\.\s*", "", line) for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
