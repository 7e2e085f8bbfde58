"""The node notes when programs printed."""

from __future__ import annotations

import os
from pathlib import Path

from paddock.history.log_times import find_offset, read_marks
from paddock.kube.log_marks import write_mark
from paddock.node.runtime.log_times import LogTimes
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records

POD = PodState("uid-1", "default", "demo-worker-0", "", 0.0, "boot")


class Printing:
    """A run and its log."""

    def __init__(self, directory: Path, number: int = 0) -> None:
        self.run = Run("trainer", number, 0.0)
        self.log = Records(directory).log_file(POD, self.run)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.touch()

    def print(self, text: str, when: float) -> None:
        with self.log.open("a") as file:
            file.write(text)
        os.utime(self.log, (when, when))

    @property
    def marks(self) -> list[tuple[int, float]]:
        read = read_marks(self.log)
        return list(zip(read.offsets, read.times, strict=True))


def test_a_log_that_has_grown_is_marked_with_the_time_of_its_last_write(tmp_path: Path) -> None:
    program = Printing(tmp_path)
    times = LogTimes(tmp_path, lambda: [(POD, program.run)])
    times.look()
    assert program.marks == []
    program.print("one\n", 100.25)
    times.look()
    times.look()
    program.print("two\nthr", 101.5)
    times.look()
    assert program.marks == [(4, 100.25), (11, 101.5)]
    assert (program.log.with_suffix(".times").stat().st_mode & 0o777) == 0o600


def test_what_is_printed_before_the_end_is_marked_after_it(tmp_path: Path) -> None:
    program = Printing(tmp_path)
    running = [(POD, program.run)]
    times = LogTimes(tmp_path, lambda: running)
    program.print("one\n", 100.0)
    times.look()
    program.print("last\n", 103.0)
    running.clear()
    times.look()
    program.print("of nobody\n", 109.0)
    times.look()
    assert program.marks == [(4, 100.0), (9, 103.0)]


def test_the_next_process_goes_on_where_the_marks_end(tmp_path: Path) -> None:
    program = Printing(tmp_path)
    program.print("one\n", 100.0)
    LogTimes(tmp_path, lambda: [(POD, program.run)]).look()
    after = LogTimes(tmp_path, lambda: [(POD, program.run)])
    after.look()
    program.print("two\n", 101.0)
    after.look()
    assert program.marks == [(4, 100.0), (8, 101.0)]


def test_a_program_that_puts_a_link_in_the_way_gets_no_mark_written_elsewhere(tmp_path: Path) -> None:
    program, other = Printing(tmp_path), tmp_path / "precious"
    other.write_bytes(b"mine")
    program.log.with_suffix(".times").symlink_to(other)
    program.print("one\n", 100.0)
    LogTimes(tmp_path, lambda: [(POD, program.run)]).look()
    assert other.read_bytes() == b"mine" and program.marks == []


def test_the_part_of_a_log_since_a_moment_is_found_from_the_end_of_its_marks(tmp_path: Path) -> None:
    """Of 20,000 marks, more than are read at first; `size` is what the log has."""
    log = tmp_path / "0.log"
    log.touch()
    os.truncate(log, 20_000)
    marks = log.with_suffix(".times")
    marks.write_bytes(b"".join(write_mark(number + 1, float(number)) for number in range(20_000)) + b"torn")
    for moment, place in ((19_999.5, 20_000), (19_990.0, 19_990), (10_000.0, 10_000), (3.5, 4), (0.0, 0), (-1.0, 0)):
        assert find_offset(log, moment) == place
    os.truncate(log, 19_999)
    assert find_offset(log, 19_990.0) is None, "its marks are of another log"
    marks.write_bytes(b"torn")
    assert find_offset(log, 19_990.0) is None
    marks.unlink()
    assert find_offset(log, 19_990.0) is None
    marks.symlink_to(log)
    assert find_offset(log, 19_990.0) is None
