"""The file of one run: its bytes, its lock, and what has come of a start."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.node.runtime import processes
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import Process
from paddock.node.runtime.records import Records
from paddock.node.runtime.run_files import is_held, open_run_file, read_run_file
from paddock.node.runtime.runs import Runs, Trace
from paddock.node.runtime.sandbox import Plain

RUN = Run("main", 0, 0.0, sandbox="none")
STATE = PodState("u", "default", "p", "127.64.0.1", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = Records(tmp_path).run_file("u", RUN)
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the file, until its standard input ends."""
    file = open_run_file(path)
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, pass_fds=(file,))
    os.close(file)
    yield process
    process.communicate()


def test_a_new_file_is_blank_and_has_its_bytes(path: Path) -> None:
    os.close(open_run_file(path))
    assert read_run_file(path) == ""
    assert path.read_bytes().strip(b" \n") == b""
    assert os.stat(path).st_blocks * 512 >= path.stat().st_size >= 4096


def test_a_process_holds_the_file_as_long_as_it_lives(path: Path, holder: subprocess.Popen[bytes]) -> None:
    assert is_held(path)
    with pytest.raises(BlockingIOError) as caught:
        open_run_file(path)
    assert caught.value.filename == str(path)
    holder.kill()
    holder.wait()
    assert not is_held(path)


def test_a_file_that_is_missing_is_held_by_nobody(path: Path) -> None:
    assert not is_held(path)
    assert read_run_file(path) == ""


def write(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY)
    os.pwrite(file, text.encode(), 0)
    os.close(file)


def stat_of(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text()


def trace(path: Path) -> Process | Trace:
    return Runs(Records(path.parents[2]), Plain()).trace(STATE, RUN)


def test_what_has_come_of_a_start_whose_process_lives(path: Path, holder: subprocess.Popen[bytes]) -> None:
    assert trace(path) is Trace.STARTING
    write(path, stat_of(holder))
    assert trace(path) == Process(holder.pid, processes.read_birth(holder.pid) or 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, Trace.NOTHING),
        ("", Trace.NOTHING),
        ("1 (sh) S 0 1 1 0\n", Trace.ENDED),
        ("1 (sh) S 0 1 1 0\n0\n", Trace.ENDED),
        ("what no wrapper writes", Trace.ENDED),
    ],
)
def test_what_has_come_of_a_start_without_a_process(path: Path, text: str | None, found: Trace) -> None:
    if text is not None:
        os.close(open_run_file(path))
        write(path, text)
    assert trace(path) is found


def test_a_file_that_cannot_be_read_is_not_taken_for_a_start_that_came_to_nothing(path: Path) -> None:
    path.symlink_to("elsewhere")
    with pytest.raises(OSError) as caught:
        trace(path)
    assert caught.value.errno != errno.ENOENT


def test_the_own_group_of_this_process_is_never_signalled() -> None:
    with pytest.raises(ValueError, match="own group"):
        processes.send_signal(0, signal.SIGCONT)
