"""The cluster's process, started and stopped as the command line does it. Killed and crowded: tests/e2e."""

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

import psutil
import pytest

from e2e.commands import until
from paddock.app import home as homes
from paddock.app import launch
from paddock.app.home import Home, HomeError
from paddock.app.launch import StartError, Stopped
from support.process_state import read_children


@pytest.fixture
def home() -> Iterator[Home]:
    """A home with a short name, and no cluster left in it whatever happened."""
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
    """A zombie has: this process is its parent, and has not asked for its exit code."""
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_cluster_is_started_once_found_by_the_next_and_stopped_without_a_trace(home: Home) -> None:
    first, second = launch.start(home, sandbox="none"), launch.start(home, sandbox="none")
    assert (first.fresh, second.fresh) == (True, False)
    assert first.running == second.running == homes.read_running(home)
    assert first.running.sandbox == "none" and psutil.pid_exists(first.running.pid)
    assert launch.stop(home) == Stopped(was_up=True, leftovers=0)
    assert has_ended(first.running.pid) and not homes.is_up(home) and not home.record.exists()
    assert launch.stop(home) == Stopped(was_up=False, leftovers=0)


def test_two_starts_at_once_end_in_one_cluster(home: Home) -> None:
    with ThreadPoolExecutor() as pool:
        started = list(pool.map(lambda _: launch.start(home, sandbox="none"), range(3)))
    assert len({each.running.pid for each in started}) == 1
    assert [each.fresh for each in started].count(True) == 1


def test_the_next_cluster_has_the_port_of_the_last_one(home: Home) -> None:
    before = launch.start(home, sandbox="none").running.url
    launch.stop(home)
    assert launch.start(home, sandbox="none").running.url == before


def test_a_port_of_last_time_that_is_taken_is_given_up(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        homes.make(home)
        (home.root / "port").write_text(str(server.getsockname()[1]))
        assert not launch.start(home, sandbox="none").running.url.endswith(f":{server.getsockname()[1]}")


def test_a_port_that_was_asked_for_and_is_taken_is_refused_with_a_sentence(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StartError) as caught:
            launch.start(home, sandbox="none", port=port)
    assert str(caught.value).startswith(f"port {port} of 127.0.0.1 is taken by another program")
    assert not homes.is_up(home)


def test_a_home_that_cannot_be_written_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError):
        launch.start(Home(tmp_path / "file" / "home", tmp_path / "cache"))


def test_nobody_needs_it_so_it_stops_by_itself(home: Home) -> None:
    pid = launch.start(home, sandbox="none", idle=0.4).running.pid
    until("its end", lambda: has_ended(pid))
    assert "stopping" in home.log.read_text() and not home.record.exists()


def test_pinned_it_stays(home: Home) -> None:
    homes.make(home)
    home.pinned.touch()
    pid = launch.start(home, sandbox="none", idle=0.1).running.pid
    log = home.log
    until("a few looks at the clock", lambda: psutil.Process(pid).cpu_times().user > 0 and "serving" in log.read_text())
    assert "stopping" not in log.read_text() and psutil.pid_exists(pid)


def test_killed_it_is_not_up_and_starts_again(home: Home) -> None:
    pid = launch.start(home, sandbox="none").running.pid
    os.kill(pid, 9)
    until("the lock is free", lambda: not homes.is_up(home))
    assert homes.read_running(home) is not None, "who follows a job tells a kill from a stop by it"
    again = launch.start(home)
    assert again.fresh and again.running.pid != pid
    assert again.running.sandbox == "none", "the sandbox that its pods live on in"


def test_a_cluster_that_ends_while_it_starts_says_its_last_words(home: Home) -> None:
    homes.make(home)
    (home.root / "api").write_text("a file where a directory must be")
    with pytest.raises(StartError, match="api"):
        launch.start(home, sandbox="none")


def test_settings_that_a_process_has_otherwise_are_named() -> None:
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
