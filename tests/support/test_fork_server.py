"""A forked `paddock` is as one that is started: the same output, exit code, signals, files and place."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from e2e.commands import PADDOCK, until
from support import fork_server
from support.process_state import read_children


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PADDOCK_HOME": str(tmp_path / "home"), "COLUMNS": "80", "NO_COLOR": "1"}


@pytest.mark.parametrize(
    "words", [("version",), ("--help",), ("gett",), ("validate", "there-is-none.yaml"), ("get", "-o", "yamll"), ()]
)
def test_it_prints_and_ends_as_a_started_one(
    environment: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    forked = fork_server.run(words, environment, 60, str(tmp_path))
    started = subprocess.run((*PADDOCK, *words), env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_it_is_in_the_language_and_the_directory_that_it_is_given(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("kind: PaddleJob\n")
    said = fork_server.run(("validate", "job.yaml"), {**environment, "LANG": "zh_CN.UTF-8"}, 60, str(tmp_path))
    assert said.returncode == 1 and said.stdout.startswith("job.yaml:1:1: apiVersion: 缺少"), said


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -9)]
)
def test_signals_end_it_and_the_kernel_shows_its_words_and_variables(
    environment: dict[str, str], tmp_path: Path, number: int, code: int
) -> None:
    """It waits for a named pipe that nobody opens."""
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    before = read_children()
    with open(os.devnull, "r+b") as nothing:
        files = dict.fromkeys((0, 1, 2), nothing.fileno())
        forked = fork_server.Forked(("validate", str(pipe)), environment, files, str(tmp_path))
    process = psutil.Process(forked.pid)
    assert forked.poll() is None
    assert " ".join(process.cmdline()) == " ".join((*PADDOCK, "validate", str(pipe)))
    assert process.environ() == environment and process.cwd() == str(tmp_path)
    assert read_children() == before, "the server is no child of a test"
    until("the command is at the pipe", lambda: _opens(process))
    forked.send_signal(number)
    assert forked.wait(60) == code and forked.poll() == code
    assert not psutil.pid_exists(forked.pid)
    forked.kill()


def _opens(process: psutil.Process) -> bool:
    return "fifo" in Path(f"/proc/{process.pid}/wchan").read_text() or process.status() == psutil.STATUS_SLEEPING


def test_a_cluster_that_it_starts_is_a_process_of_its_own_and_ends_by_a_command(environment: dict[str, str]) -> None:
    up = fork_server.run(("up", "--sandbox", "none"), environment, 120)
    assert up.returncode == 0, up
    home = environment["PADDOCK_HOME"]
    served = [
        each for each in psutil.process_iter(["cmdline"]) if f"--home {home}" in " ".join(each.info["cmdline"] or ())
    ]
    assert len(served) == 1 and os.getsid(served[0].pid) == served[0].pid and served[0].cwd() == "/"
    assert fork_server.run(("get",), environment, 60).stderr == "no jobs in namespace default\n"
    assert fork_server.run(("down",), environment, 60).returncode == 0
    assert not served[0].is_running()


def test_one_that_prints_nothing_for_too_long_is_ended(environment: dict[str, str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(subprocess.TimeoutExpired):
        fork_server.run(("validate", str(tmp_path / "pipe.yaml")), environment, 0.2)


def test_an_environment_that_changes_how_python_starts_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert fork_server.may_fork({**os.environ, "TEAM": "a", "LC_ALL": "zh_CN.UTF-8"})
    assert not fork_server.may_fork({**os.environ, "LC_ALL": "C"})
    assert not fork_server.may_fork({**os.environ, "PYTHONWARNINGS": "error"})


def test_a_request_is_read_as_it_was_written() -> None:
    request = fork_server.Request("paddock.cli.main", ("get", "作业"), {"A": "b\n"}, "/", True, (0, 1, 2, 7))
    assert fork_server.read_request(request.write()) == request


def test_what_is_too_large_to_be_shown_fails_with_its_size(environment: dict[str, str]) -> None:
    ended = fork_server.run(("version",), {**environment, "LARGE": "x" * 40_000}, 60)
    assert ended.returncode == 1 and "there is room for" in ended.stderr, ended
