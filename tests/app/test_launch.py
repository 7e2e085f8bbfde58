"""The cluster's process, started and stopped as by the command line. Kills and many starts at once: tests/e2e."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from e2e.commands import until
from paddock.app import home as homes
from paddock.app import launch
from paddock.app.home import Home, HomeError
from paddock.app.launch import StartError, Stopped
from paddock.words.phrases import phrase
from support import fork_server
from support.process_state import read_children

STARTED = pytest.mark.parametrize("home", ["started"], indirect=True)
"""Marks a test whose clusters start as a user's do, in a new Python; those of other tests are forked."""


@pytest.fixture
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home with a short path. Its cluster is always stopped at the end."""
    if not hasattr(request, "param"):
        monkeypatch.setattr(launch, "subprocess", fork_server.LAUNCHING)
    directory, before = Path(tempfile.mkdtemp(prefix="app-")), read_children()
    made = Home(directory / "home", directory / "cache")
    try:
        yield made
    finally:
        launch.stop(made)
        for pid in read_children() - before:  # the command line ends, and leaves its cluster to init
            os.waitpid(pid, 0)
        rmtree(directory)


def has_ended(pid: int) -> bool:
    """Also true for a zombie: this process is its parent and has not waited for it."""
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@STARTED
def test_a_second_start_finds_the_cluster_and_stop_removes_its_record(home: Home) -> None:
    first, second = launch.start(home, sandbox="none"), launch.start(home, sandbox="none")
    assert (first.fresh, second.fresh) == (True, False)
    assert first.running == second.running == homes.read_running(home)
    assert first.running.sandbox == "none" and psutil.pid_exists(first.running.pid)
    assert launch.stop(home) == Stopped(was_up=True, leftovers=0)
    assert not homes.is_up(home) and not home.record.exists()
    # The cluster gives its lock back just before its process ends.
    until("its end", lambda: has_ended(first.running.pid))
    assert launch.stop(home) == Stopped(was_up=False, leftovers=0)


def test_a_store_that_was_emptied_starts_no_new_cluster(home: Home) -> None:
    launch.start(home, sandbox="none")
    launch.stop(home)
    os.truncate(home.api / "store.sqlite", 0)
    for _ in range(2):
        with pytest.raises(StartError, match=r"store.sqlite is empty, and the cluster .* Restore it from a backup"):
            launch.start(home, sandbox="none")
    assert not homes.is_up(home)
    (home.api / "store.sqlite.cluster").unlink()
    assert launch.start(home, sandbox="none").fresh


@pytest.mark.slow
@STARTED
def test_starts_at_once_result_in_one_cluster(home: Home) -> None:
    with ThreadPoolExecutor() as pool:
        started = list(pool.map(lambda _: launch.start(home, sandbox="none"), range(3)))
    assert len({each.running.pid for each in started}) == 1
    assert [each.fresh for each in started].count(True) == 1


@pytest.mark.slow
def test_the_next_cluster_uses_the_port_of_the_last_one(home: Home) -> None:
    before = launch.start(home, sandbox="none").running.url
    launch.stop(home)
    assert launch.start(home, sandbox="none").running.url == before


@pytest.mark.slow
def test_another_port_is_chosen_if_the_last_one_is_in_use(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        homes.create(home)
        (home.root / "port").write_text(str(server.getsockname()[1]))
        assert not launch.start(home, sandbox="none").running.url.endswith(f":{server.getsockname()[1]}")


def test_a_requested_port_that_is_in_use_is_an_error(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StartError) as caught:
            launch.start(home, sandbox="none", port=port)
    assert str(caught.value).startswith(f"port {port} of 127.0.0.1 is taken by another program")
    assert not homes.is_up(home)


def test_a_home_that_cannot_be_written_is_an_error_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError):
        launch.start(Home(tmp_path / "file" / "home", tmp_path / "cache"))


def test_an_idle_cluster_stops_by_itself(home: Home) -> None:
    pid = launch.start(home, sandbox="none", idle=0.4).running.pid
    until("its end", lambda: has_ended(pid))
    assert "stopping" in home.log.read_text() and not home.record.exists()


@pytest.mark.slow
def test_a_pinned_cluster_does_not_stop_when_idle(home: Home) -> None:
    homes.create(home)
    home.pinned.touch()
    pid = launch.start(home, sandbox="none", idle=0.1).running.pid
    log = home.log
    until("a few looks at the clock", lambda: psutil.Process(pid).cpu_times().user > 0 and "serving" in log.read_text())
    assert "stopping" not in log.read_text() and psutil.pid_exists(pid)


def test_a_killed_cluster_is_not_up_and_can_be_started_again(home: Home) -> None:
    pid = launch.start(home, sandbox="none").running.pid
    os.kill(pid, 9)
    until("the lock is free", lambda: not homes.is_up(home))
    assert homes.read_running(home) is not None, "a client that follows a job tells a kill from a stop by it"
    again = launch.start(home)
    assert again.fresh and again.running.pid != pid
    assert again.running.sandbox == "none", "the sandbox in which its pods still run"


def test_the_error_of_a_cluster_that_ends_while_it_starts_has_its_last_log_line(home: Home) -> None:
    homes.create(home)
    (home.root / "api").write_text("a file where a directory must be")
    with pytest.raises(StartError, match="api"):
        launch.start(home, sandbox="none")


INFO = "2026-11-30 10:00:00,000 INFO paddock.operator.controller PaddleJob default/demo: Starting -> Running\n"


@pytest.mark.parametrize(
    ("code", "log", "why"),
    [
        (-9, INFO, "signal 9 killed it"),
        (1, INFO, "it said nothing"),
        (1, "", "it said nothing"),
        (None, f"{INFO}MemoryError\n\n{INFO}", "MemoryError"),
        (1, f"2026-11-30 10:00:00,000 ERROR paddock.cluster no room\n{INFO}",
         "2026-11-30 10:00:00,000 ERROR paddock.cluster no room"),
    ],
)  # fmt: skip
def test_a_line_about_another_matter_is_not_why_the_cluster_ended(code: int | None, log: str, why: str) -> None:
    assert str(phrase("{why}", why=launch.explain_exit(code, log))) == why


def test_a_cluster_that_is_killed_while_it_starts_leaves_the_record_of_the_killed_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So who follows a job does not take the kill for `paddock down`, and pods live on in their sandbox."""
    pid = launch.start(home, sandbox="none").running.pid
    os.kill(pid, 9)
    until("the lock is free", lambda: not homes.is_up(home))
    spawn = fork_server.LAUNCHING.Popen

    def spawn_and_kill(*words: Any, **options: Any) -> Any:
        process = spawn(*words, **options)
        until("it has begun", lambda: (record := homes.read_running(home)) is None or record.pid != pid)
        os.kill(process.pid, 9)
        return SimpleNamespace(wait=lambda seconds: process.wait(seconds) or -9)

    with monkeypatch.context() as patch, pytest.raises(StartError, match="signal 9 killed it"):
        patch.setattr(launch, "subprocess", SimpleNamespace(**{**vars(fork_server.LAUNCHING), "Popen": spawn_and_kill}))
        launch.start(home)
    assert homes.read_running(home) is not None
    assert launch.start(home).running.sandbox == "none"


def test_variables_that_differ_in_another_process_are_named() -> None:
    ours = {"PATH": "/bin", "HTTPS_PROXY": "http://new.example", "UV_INDEX_URL": "https://a.example", "HOME": "/b"}
    theirs = {"PATH": "/usr/bin", "https_proxy": "http://old.example", "UV_INDEX_URL": "https://a.example"}
    program = [sys.executable, "-c", "print(flush=True); input()"]
    process = subprocess.Popen(program, env=theirs, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"\n"
        assert launch.find_other_settings(process.pid, ours) == ["HTTPS_PROXY", "https_proxy"]
    finally:
        process.communicate(b"\n")
    assert launch.find_other_settings(process.pid, ours) == []
