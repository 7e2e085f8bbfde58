"""Runs one program on a terminal of its own. I/O.

uv tells how many bytes it has only on a terminal. The terminal also ties the child to this process: when Paddock dies,
by kill -9 too, the terminal hangs up and the child ends (SIGHUP), so no build goes on unwatched.

A caller that is cancelled leaves nothing behind: the child's whole session is killed before the call returns.
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

_LOGIN = "import os, sys; os.login_tty(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"
"""Makes the terminal the child's controlling one, which only the child itself can do."""

_ROWS, _COLUMNS = 100, 240  # rows: more bars than uv downloads at once; columns: errors are wrapped at this width


async def run_on_terminal(
    command: Sequence[str], environ: Mapping[str, str], directory: Path, on_text: Callable[[str], None] | None = None
) -> tuple[int, str]:
    """Exit code (negative: the signal) and all text. `on_text` gets the text as it comes, cut anywhere; what it raises
    ends the program and is raised here."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    os.set_blocking(ours, False)
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _LOGIN, str(theirs), *command,
            stdin=asyncio.subprocess.DEVNULL, env=dict(environ), cwd=directory, pass_fds=(theirs,),
        )  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        chunks = await _read_all(ours, child, on_text)
        return await child.wait(), b"".join(chunks).decode(errors="replace")
    finally:
        os.close(ours)
        if child.returncode is None:
            _kill(child.pid)
            await child.wait()


async def read_output(command: Sequence[str], environ: Mapping[str, str]) -> bytes:
    """What a program prints, without a terminal; what it complains of is dropped. It ends with its caller."""
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
    """Until the last process on the terminal has closed it, or the child has ended and nothing more comes."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    chunks: list[bytes] = []

    def read() -> bool:
        try:
            chunk = os.read(terminal, 65536)
        except BlockingIOError:
            return False
        except OSError:  # Linux: EIO when the other side is closed
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
        while not ended.done() and read():
            pass
        if ended.done():
            ended.result()
    finally:
        loop.remove_reader(terminal)
        exit_.cancel()
    return chunks


def _kill(pid: int) -> None:
    """The session's group; before the child has made its session, the child alone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def plain_text(output: str) -> str:
    """What a person would have read in the end: without colours, cursor movements and overdrawn lines.

    A colour takes nothing away from its line (Python 3.13 colours its tracebacks); any other sequence begins it anew.
    """
    lines = []
    without_colours = re.sub(r"\x1b\[[0-9;:]*m", "", output)
    for line in re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "\r", without_colours).split("\n"):
        parts = [part.rstrip() for part in line.split("\r") if part.strip()]
        lines.append(parts[-1] if parts else "")
    text = "\n".join(re.sub(r"^[\u2800-\u28ff] Resolving dependencies\.\.\.\s*", "", line) for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
