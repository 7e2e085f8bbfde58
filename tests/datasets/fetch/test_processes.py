"""Programs that are started while something is fetched: what they say, and that none is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

import psutil
import pytest

from paddock.datasets.fetch.processes import run_program

PYTHON = sys.executable


async def test_lines_of_progress_are_read_and_the_rest_is_kept() -> None:
    code = "import sys; sys.stderr.write('10 %\\r20 %\\rfatal: no\\nrest'); print('out'); sys.exit(3)"
    read: list[str] = []

    def take(line: str) -> bool:
        read.append(line)
        return "%" in line

    ended = await run_program([PYTHON, "-c", code], os.environ, read=take)
    assert (ended.code, ended.output, ended.said) == (3, b"out\n", "fatal: no\nrest")
    assert read == ["10 %", "20 %", "fatal: no"]


async def test_it_gets_its_input_and_its_output_is_read_by_lines() -> None:
    lines: list[bytes] = []
    code = "import sys; [print(each.strip()) for each in sys.stdin]"
    ended = await run_program([PYTHON, "-c", code], os.environ, given=b"a\nb\n", read_output=lines.append)
    assert (ended.code, ended.output, lines) == (0, b"", [b"a\n", b"b\n"])


async def test_one_that_reads_no_input_is_no_failure() -> None:
    assert (await run_program([PYTHON, "-c", "pass"], os.environ, given=b"x" * 1_000_000)).code == 0


async def test_nothing_is_left_when_it_is_cancelled() -> None:
    """Also what the program itself has started."""
    code = "import subprocess, sys; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait()"
    started: asyncio.Queue[int] = asyncio.Queue()
    task = asyncio.ensure_future(
        run_program([PYTHON, "-c", code], os.environ, read_output=lambda line: started.put_nowait(int(line)))
    )
    child = psutil.Process(await started.get())
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await asyncio.to_thread(psutil.wait_procs, [child], 10)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


async def test_all_ends_with_a_process_that_is_killed() -> None:
    """Also what the program itself has started, which no pipe tells."""
    code = (
        "import asyncio, os\n"
        "from paddock.datasets.fetch.processes import run_program\n"
        "words = ['sh', '-c', 'sleep 600 & echo $!; wait']\n"
        "asyncio.run(run_program(words, os.environ, read_output=lambda line: print(int(line), flush=True)))\n"
    )
    parent = await asyncio.create_subprocess_exec(PYTHON, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await asyncio.to_thread(psutil.wait_procs, [child], 10)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


async def test_a_signal_is_told_as_shells_do() -> None:
    ended = await run_program([PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], os.environ)
    assert ended.code == 128 + signal.SIGKILL


async def test_a_program_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        await run_program(["/nowhere/program"], os.environ)
