"""Where the local cluster lives, and whether it is up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from e2e.commands import until
from paddock.app import home as homes
from paddock.app import launch
from paddock.app.home import Home, HomeError, Lock, Running, read_home
from support.small_disks import fill, small_disk

RUNNING = Running(1, "https://127.0.0.1:6443", 1.5, "0.1.0", "2 CPUs", "none")


@pytest.mark.parametrize(
    ("environment", "root", "cache"),
    [
        ({"HOME": "/u"}, "/u/.local/state/paddock", "/u/.cache/paddock"),
        ({"HOME": "/u", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}, "/s/paddock", "/c/paddock"),
        ({"HOME": "/u", "XDG_STATE_HOME": "/s", "PADDOCK_HOME": "/p"}, "/p", "/u/.cache/paddock"),
        ({"HOME": "/u", "XDG_STATE_HOME": "", "PADDOCK_HOME": ""}, "/u/.local/state/paddock", "/u/.cache/paddock"),
    ],
)
def test_the_environment_names_the_home(environment: dict[str, str], root: str, cache: str) -> None:
    assert read_home(environment) == Home(Path(root), Path(cache))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "state" / "paddock", tmp_path / "cache")
    homes.create(made)
    return made


def test_a_home_is_private_and_empty_at_first(home: Home) -> None:
    assert home.root.stat().st_mode & 0o777 == 0o700
    assert list(home.root.iterdir()) == []


def test_the_error_for_a_home_that_cannot_be_created_says_why_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match=r"cannot be written \(Not a directory\): .* PADDOCK_HOME"):
        homes.create(Home(tmp_path / "file" / "paddock", tmp_path))


def test_a_home_is_noted_in_its_cache_until_it_is_gone(home: Home) -> None:
    gone = Home(home.root.parent / "gone", home.cache)
    gone.root.mkdir()
    homes.note_home(gone)
    gone.root.rmdir()
    homes.note_home(home)
    homes.note_home(home)
    assert homes.list_homes(gone) == [home.root]


def test_one_process_holds_the_lock(home: Home) -> None:
    first, second = Lock(home), Lock(home)
    assert not homes.is_up(home)
    assert first.acquire() and not second.acquire() and homes.is_up(home)
    first.release()
    assert not homes.is_up(home) and second.acquire()
    second.release()


def test_the_record_is_read_as_it_was_written(home: Home) -> None:
    assert homes.read_running(home) is None
    homes.write_running(home, RUNNING)
    assert homes.read_running(home) == RUNNING
    assert [path.name for path in home.root.iterdir()] == ["cluster.json"]


def test_the_record_of_a_killed_cluster_is_not_a_running_cluster(home: Home) -> None:
    homes.write_running(home, RUNNING)
    assert homes.find_running(home) is None
    lock = Lock(home)
    lock.acquire()
    assert homes.find_running(home) is None, "a process holds the lock and has recorded nothing yet"
    lock.write_pid()
    assert homes.find_running(home) is None, "another process"
    homes.write_running(home, replace(RUNNING, pid=os.getpid()))
    assert homes.find_running(home) == replace(RUNNING, pid=os.getpid())
    lock.release()
    assert homes.find_running(home) is None


ENDING = """
import ctypes, sys, threading, time
from pathlib import Path
from paddock.app.home import Home, Lock
lock = Lock(Home(Path(sys.argv[1]), Path(sys.argv[1])))
assert lock.acquire()
lock.write_pid()
threading.Thread(target=time.sleep, args=(60,)).start()
sys.stdout.write("ready")
sys.stdout.flush()
ctypes.CDLL(None).pthread_exit(None)
"""


@contextmanager
def ending(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """A cluster's process whose first thread has ended: the lock is free with its last one."""
    with subprocess.Popen([sys.executable, "-c", ENDING, str(home.root)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.read(5) == b"ready"
            homes.write_running(home, replace(RUNNING, pid=process.pid))
            until("the end of the first thread", lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
            yield process
        finally:
            process.kill()


def test_a_killed_cluster_whose_threads_have_yet_to_end_is_not_a_running_cluster(home: Home) -> None:
    """The server answers nobody any more."""
    with ending(home):
        assert homes.find_running(home) is None and not homes.may_answer(home)
        assert homes.is_up(home)
    assert not homes.is_up(home)


def test_a_cluster_that_starts_may_answer(home: Home) -> None:
    """The first one has the lock before it writes its process id; a later one finds the id of one that is gone."""
    assert not homes.may_answer(home)
    lock = Lock(home)
    lock.acquire()
    assert homes.may_answer(home)
    home.lock.write_text("999999999")
    assert homes.may_answer(home)
    lock.release()
    assert not homes.may_answer(home)


def test_a_killed_cluster_whose_threads_have_yet_to_end_was_not_up_for_who_stops_it(home: Home) -> None:
    """What it left behind is ended once its lock is free."""
    home.node.mkdir()
    with ending(home) as process:
        threading.Timer(0.3, process.kill).start()
        assert launch.stop(home) == launch.Stopped(was_up=False, leftovers=0)
        assert not homes.is_up(home)
    assert homes.read_running(home) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": 1, "unknown": 2}'])
def test_an_incomplete_record_is_ignored(home: Home, text: str) -> None:
    home.record.write_text(text)
    assert homes.read_running(home) is None


def test_a_home_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    """Also by commands that only ask whether the cluster is up. A directory where the lock belongs refuses everybody,
    as a disk that is mounted read-only does."""
    home = Home(tmp_path, tmp_path)
    home.lock.mkdir()
    said = rf"{tmp_path} cannot be written \(.+\): free or repair it, or name another directory in PADDOCK_HOME"
    with pytest.raises(HomeError, match=said):
        homes.is_up(home)


def test_a_home_on_a_full_disk_is_told_as_everywhere(tmp_path: Path) -> None:
    with small_disk(tmp_path / "home", "1m") as root:
        fill(root)
        with pytest.raises(HomeError, match=r"is full \(0 B of 1\.0 MiB free\): nothing is recorded"):
            homes.create(Home(root, tmp_path))
