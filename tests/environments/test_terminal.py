"""One program on its own pseudo-terminal: exit codes, output as it is written, and no process left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from paddock.environments.terminal import plain_text, read_output, run_on_terminal

HERE = Path("/")


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9)])
async def test_exit_codes(script: str, code: int) -> None:
    assert (await run_on_terminal(["/bin/sh", "-c", script], os.environ, HERE))[0] == code


async def test_output_arrives_as_it_is_written_and_is_complete_at_the_end() -> None:
    seen: list[str] = []
    first = asyncio.Event()

    def on_text(text: str) -> None:
        seen.append(text)
        first.set()

    script = "echo one; test -t 1 && echo terminal; sleep 600 & echo $!; wait"
    task = asyncio.create_task(run_on_terminal(["/bin/sh", "-c", script], os.environ, HERE, on_text))
    await asyncio.wait_for(first.wait(), 60)
    async with asyncio.timeout(180):
        while len(lines := "".join(seen).split()) < 3:
            first.clear()
            await first.wait()
    assert lines[:2] == ["one", "terminal"]
    os.kill(int(lines[2]), signal.SIGKILL)
    _, text = await task
    assert text == "".join(seen)


async def test_large_output_is_complete() -> None:
    _, text = await run_on_terminal([sys.executable, "-c", "print('x' * 100)\n" * 500], os.environ, HERE)
    assert text.count("x") == 50_000


async def test_a_process_that_the_child_leaves_does_not_block_the_caller() -> None:
    script = "trap '' HUP; sleep 600 & echo $!"
    _, text = await asyncio.wait_for(run_on_terminal(["/bin/sh", "-c", script], os.environ, HERE), 60)
    os.kill(int(text), signal.SIGKILL)


async def test_cancellation_kills_the_whole_session() -> None:
    pids: list[str] = []
    ready = asyncio.Event()

    def on_text(text: str) -> None:
        pids.extend(text.split())
        ready.set()

    script = "trap '' HUP TERM; sleep 600 & echo $!; sleep 600"
    task = asyncio.create_task(run_on_terminal(["/bin/sh", "-c", script], os.environ, HERE, on_text))
    await asyncio.wait_for(ready.wait(), 60)
    sleeper = psutil.Process(int(pids[0]))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(psutil.wait_procs, [sleeper], 60)
    assert not sleeper.is_running() or sleeper.status() == psutil.STATUS_ZOMBIE


ALONE = """
import asyncio, os
from pathlib import Path
from paddock.environments.terminal import run_on_terminal
asyncio.run(run_on_terminal(["/bin/sh", "-c", "echo $$; exec sleep 600"], os.environ, Path("/"),
                            lambda text: print(text, flush=True)))
"""


@pytest.mark.parametrize("signals", ["", "trap '' HUP; "], ids=["plain", "nohup"])
async def test_kill_9_of_the_parent_ends_the_child_by_hangup(signals: str) -> None:
    shell = ("/bin/sh", "-c", f'{signals}exec "$0" -c "$1"', sys.executable, ALONE)
    parent = await asyncio.create_subprocess_exec(*shell, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(await asyncio.wait_for(parent.stdout.readline(), 180)))
    parent.kill()
    await parent.wait()
    _, alive = await asyncio.to_thread(psutil.wait_procs, [child], 60)
    assert not alive


def test_plain_text_is_the_text_visible_at_the_end() -> None:
    drawn = "\x1b[2K⠙ Resolving dependencies...   \r\x1b[2K⠹ six\r\x1b[2Kerror: x\r\n  cause: y\r\n\x1b[31mz\x1b[0m\r\n"
    assert plain_text(drawn) == "error: x\n  cause: y\nz"


async def test_an_exception_of_on_text_ends_the_program(tmp_path: Path) -> None:
    """The exception is raised in the caller."""

    def on_text(text: str) -> None:
        raise ValueError(text.strip())

    script = f"echo $$; exec sleep 1000 2>{tmp_path}/x"
    with pytest.raises(ValueError, match=r"^\d+$") as raised:
        await run_on_terminal(["/bin/sh", "-c", script], os.environ, HERE, on_text)
    assert not psutil.pid_exists(int(str(raised.value)))


def test_a_coloured_line_is_complete() -> None:
    """The last line of a traceback of Python 3.13 on a terminal."""
    drawn = "\x1b[1;35mAssertionError\x1b[0m: \x1b[35mno flag\x1b[0m\r\n"
    assert plain_text(drawn) == "AssertionError: no flag"


async def test_a_cancelled_read_output_kills_the_program(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    task = asyncio.create_task(read_output(["/bin/sh", "-c", f"echo $$ >{file}; exec sleep 1000"], os.environ))
    async with asyncio.timeout(180):
        while not file.exists() or not file.read_text().strip():  # noqa: ASYNC110 - a file, no event
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(int(file.read_text()))
    assert await read_output(["/bin/sh", "-c", "echo out; echo err >&2"], os.environ) == b"out\n"
