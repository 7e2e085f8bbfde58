"""Running a credential plug-in: a real process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from client.plugins import write_script
from paddock.client.exec_failures import ERROR_BYTES, OUTPUT_BYTES
from paddock.client.exec_process import find_program, run_plugin
from support.waiting import until

FOR_EVER = "time.sleep(1000)"


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def read_pid(path: Path) -> int:
    async def look() -> str:
        return path.read_text() if path.exists() else ""

    return int(await until(look))


async def test_it_gets_its_arguments_and_variables_as_they_are_and_an_empty_input(tmp_path: Path) -> None:
    script = write_script(tmp_path / "plugin", "print([sys.argv[1:], dict(os.environ), sys.stdin.read(), os.getcwd()])")
    ended = await run_plugin([str(script), "a b", "$X;", "*"], {"X": "`date`"}, interactive=False)
    assert (ended.code, ended.stopped, ended.errors) == (0, "", b"")
    arguments, environment, typed, directory = eval(ended.output)
    assert (arguments, typed, directory) == (["a b", "$X;", "*"], "", os.getcwd())
    assert environment["X"] == "`date`" and "PATH" not in environment


def test_it_runs_in_the_loop_of_the_operator_too(tmp_path: Path) -> None:
    script = write_script(tmp_path / "plugin", "sys.stderr.write('why'); print('x'); sys.exit(3)")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        ended = runner.run(run_plugin([str(script)], {}, interactive=False, detached=True))
        assert (ended.code, ended.output, ended.errors) == (3, b"x\n", b"why")
        with pytest.raises(FileNotFoundError):
            runner.run(run_plugin([str(tmp_path / "none")], {}, interactive=False))


async def test_the_end_of_standard_error_is_kept(tmp_path: Path) -> None:
    script = write_script(tmp_path / "plugin", "sys.stderr.write('x' * 1_000_000 + 'last'); sys.exit(1)")
    ended = await run_plugin([str(script)], {}, interactive=False)
    assert ended.errors is not None and len(ended.errors) == ERROR_BYTES and ended.errors.endswith(b"xlast")


async def test_one_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    script = write_script(tmp_path / "plugin", "while True: print('x' * 65536)")
    ended = await run_plugin([str(script)], {}, interactive=False)
    assert ended.stopped == "bytes" and len(ended.output) <= OUTPUT_BYTES + 2**20


async def test_one_that_waits_for_ever_is_stopped_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = f"child = os.fork()\nif not child: {FOR_EVER}\nopen({str(pid)!r}, 'w').write(str(child))"
    script = write_script(tmp_path / "plugin", "sys.stderr.write('waiting'); sys.stderr.flush()", child, FOR_EVER)
    limits = []

    async def pass_time(seconds: float) -> None:
        limits.append(seconds)
        await read_pid(pid)

    ended = await run_plugin([str(script)], {}, interactive=False, detached=True, sleep=pass_time)
    assert (ended.stopped, ended.code, ended.errors, limits) == ("seconds", -signal.SIGKILL, b"waiting", [60])
    child_pid = int(pid.read_text())

    async def gone() -> bool:
        return not is_alive(child_pid)

    await until(gone)


async def test_a_process_that_it_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    """An agent that keeps the pipes."""
    agent = f"agent = os.fork()\nif not agent: {FOR_EVER}"
    script = write_script(tmp_path / "plugin", agent, "print(agent)")
    async with asyncio.timeout(60):
        ended = await run_plugin([str(script)], {}, interactive=False)
    assert (ended.code, ended.stopped) == (0, "")
    os.kill(int(ended.output), signal.SIGKILL)


@pytest.mark.parametrize("detached", [True, False])
async def test_who_is_cancelled_kills_it(tmp_path: Path, detached: bool) -> None:
    pid = tmp_path / "pid"
    script = write_script(tmp_path / "plugin", f"open({str(pid)!r}, 'w').write(str(os.getpid()))", FOR_EVER)
    running = asyncio.create_task(run_plugin([str(script)], {}, interactive=False, detached=detached))
    started = await read_pid(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(started)


@pytest.mark.parametrize(
    ("mode", "text", "expected"),
    [
        (0o600, f"#!{sys.executable}\n", PermissionError),
        (0o700, "#!/none/python\n", FileNotFoundError),
        (0o700, "print()\n", OSError),  # never by a shell
    ],
)
async def test_what_cannot_be_started_is_an_error(
    tmp_path: Path, mode: int, text: str, expected: type[OSError]
) -> None:
    script = tmp_path / "plugin"
    script.write_text(text)
    script.chmod(mode)
    with pytest.raises(expected):
        await run_plugin([str(script)], {}, interactive=False)


def test_a_program_is_looked_for_in_absolute_directories_of_the_path_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    script = write_script(tmp_path / "b" / "plugin", "pass")
    monkeypatch.chdir(tmp_path / "b")
    assert find_program("plugin", f"{tmp_path / 'a'}:.::{tmp_path / 'b'}") == str(script)
    assert find_program("plugin", f"{tmp_path / 'a'}:.:") is None
    assert find_program("plugin", "") is None
    assert find_program(str(script), "") == str(script)
    assert find_program(str(tmp_path / "none"), str(tmp_path)) is None
