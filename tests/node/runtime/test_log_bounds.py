"""A log that is too large loses its middle: no place of a byte changes, for the program and for who reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.cluster import Options
from paddock.app.history import read_chunks
from paddock.history.log_index import LineIndex
from paddock.history.logs import LogFile, LogLocation
from paddock.node.runtime import log_bounds
from paddock.node.runtime.log_bounds import Hole, bound, find_most, plan_hole, read_on
from paddock.node.runtime.log_times import LogTimes
from paddock.node.runtime.logs import NodeLogs
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import log_directory
from support.programs import lack

MIB = 2**20
GIB = 2**30


@pytest.mark.parametrize(("free", "most"), [(0, 64 * MIB), (GIB, GIB // 10), (10 * GIB, GIB), (1000 * GIB, GIB)])
def test_a_log_has_a_tenth_of_what_is_free(free: int, most: int) -> None:
    assert find_most(free) == most


@pytest.mark.parametrize(
    ("size", "used", "hole"),
    [
        (64 * MIB, 64 * MIB, None),
        (65 * MIB, 65 * MIB, Hole(16 * MIB, 33 * MIB)),
        (GIB + 5, 65 * MIB, Hole(16 * MIB, GIB - 32 * MIB)),
        (GIB, 48 * MIB, None),
    ],
)
def test_what_is_left_out(size: int, used: int, hole: Hole | None) -> None:
    assert plan_hole(size, used, 64 * MIB) == hole


LINE = "step %09d of a program that prints without end, one line after the other\n"
LENGTH = len(LINE % 0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of a thousandth: a KiB in the place of each MiB; holes of whole blocks all the same."""
    for name, value in {"_LEAST": 64 * 1024, "MOST": 64 * 1024, "_BEGIN": 16 * 1024, "_STEP": 4096}.items():
        monkeypatch.setattr(log_bounds, name, value)


@pytest.fixture
def printed(tmp_path: Path, small: None) -> Iterator[tuple[Path, int]]:
    """A log of 200 KiB, to which its program goes on to print."""
    log = log_directory(tmp_path, "default", "p", "u1") / "main" / "0.log"
    log.parent.mkdir(parents=True)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, "".join(LINE % number for number in range(200 * 1024 // LENGTH)).encode())
    yield log, file
    os.close(file)


def make_hole(log: Path) -> None:
    os.sync()
    before = log.stat()
    try:
        bound(log, before)
    except OSError as error:
        lack("holes", f"the file system of {log.parent} makes none: {error}")
    after = log.stat()
    assert after.st_size == before.st_size and after.st_blocks * 512 <= 64 * 1024


def check(text: str, *, last: int) -> None:
    """The beginning, the sentence and the end, with the rest of a line that was cut."""
    begin, _, end = text.partition("left out here, as the log was too large …\n")
    assert text.startswith(LINE % 0) and "\0" not in text
    assert begin.rpartition("\n")[2] == "… 148 KiB were "
    whole = end.partition("\n")[2]
    first = int(whole.split()[1])
    assert whole == "".join(LINE % number for number in range(first, last)), "no line is lost"
    assert len(end) > 31 * 1024


COUNT = 200 * 1024 // LENGTH


def test_the_program_prints_on_and_a_second_hole_grows_from_the_first(printed: tuple[Path, int]) -> None:
    log, file = printed
    make_hole(log)
    check("".join(map(bytes.decode, read_chunks(as_file(log)))), last=COUNT)
    os.write(file, "".join(LINE % number for number in range(COUNT, 2 * COUNT)).encode())
    make_hole(log)
    text = b"".join(read_chunks(as_file(log))).decode()
    assert text.count("left out here") == 1 and "… 348 KiB were" in text
    assert text.endswith(LINE % (2 * COUNT - 1))


def as_file(log: Path) -> LogFile:
    return LogFile(log, "p", LogLocation("worker", 0, 0), 0.0, log.stat().st_size)


def test_who_follows_from_before_the_hole_reads_each_byte_that_is_left_once(printed: tuple[Path, int]) -> None:
    log, file = printed
    reader = os.open(log, os.O_RDONLY)
    begin = os.read(reader, 10_000)
    make_hole(log)
    rest = b""
    while chunk := read_on(reader, 3000):
        rest += chunk
    os.write(file, (LINE % COUNT).encode())
    rest += read_on(reader, 3000)
    os.close(reader)
    check((begin + rest).decode(), last=COUNT + 1)


def test_zeros_that_a_program_has_printed_are_read(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_bytes(b"\0\0a\0b\0")
    reader = os.open(log, os.O_RDONLY)
    assert b"".join(iter(lambda: read_on(reader, 2), b"")) == b"\0\0a\0b\0"
    os.close(reader)


async def test_the_node_serves_it_and_the_last_lines_are_whole(printed: tuple[Path, int], tmp_path: Path) -> None:
    make_hole(printed[0])
    pod = {"metadata": {"namespace": "default", "name": "p", "uid": "u1"}}
    logs = NodeLogs(tmp_path)
    check(b"".join([chunk async for chunk in logs.read(pod, Options())]).decode(), last=COUNT)
    last = b"".join([chunk async for chunk in logs.read(pod, Options(tail_lines=2))]).decode()
    assert last == LINE % (COUNT - 2) + LINE % (COUNT - 1)


def test_an_index_made_before_and_one_made_after_find_the_last_line(printed: tuple[Path, int]) -> None:
    log, _ = printed
    file = os.open(log, os.O_RDONLY)
    before, after = LineIndex(), LineIndex()
    before.update(file)
    make_hole(log)
    for index in (before, after):
        count = index.update(file)
        shown = [line.data.decode() for line in index.read(file, 0, count)]
        assert not any("\0" in line for line in shown)
        assert any("left out here" in line for line in shown) and shown[-1] + "\n" == LINE % (COUNT - 1)
    os.close(file)


def test_a_look_at_running_programs_bounds_their_logs(printed: tuple[Path, int], tmp_path: Path) -> None:
    log, _ = printed
    make_hole(log)  # or skips
    log.write_bytes(b"x" * 200 * 1024)
    os.sync()
    run = Run("main", 0, 0.0, 1, 1)
    state = PodState("u1", "default", "p", "", 0.0, runs={"main": run})
    LogTimes(tmp_path, lambda: [(state, run)]).look()
    assert log.stat().st_blocks * 512 <= 64 * 1024 and log.stat().st_size == 200 * 1024


def test_a_log_that_is_a_link_is_left_alone(printed: tuple[Path, int], tmp_path: Path) -> None:
    log, _ = printed
    link = tmp_path / "link.log"
    link.symlink_to(log)
    with pytest.raises(OSError):
        bound(link, log.stat())
    assert b"\0" not in log.read_bytes()
