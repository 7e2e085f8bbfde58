"""The times before the lines of a log, by the marks beside it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.log_marks import MARK_BYTES, MarkReader, Marks, read_marks, write_mark
from paddock.kube.times import Moment
from paddock.node.runtime.timed_lines import TimedLines

STAMP = re.compile(rb"(?<![^\n])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ")


def stamp(
    pieces: list[bytes], time_of: Callable[[int], Moment | None] = lambda _: None, written: Moment = 9.0
) -> bytes:
    lines, place, out = TimedLines(time_of), 0, b""
    for piece in pieces:
        out += lines.stamp(piece, place, written)
        place += len(piece)
    return out


def test_a_line_has_the_time_of_the_mark_behind_its_beginning() -> None:
    marks = Marks((4, 10), (1.5, 2.0))
    assert stamp([b"one\ntwo\nthree\nfour"], marks.time_of).splitlines() == [
        b"1970-01-01T00:00:01.500000000Z one",
        b"1970-01-01T00:00:02.000000000Z two",
        b"1970-01-01T00:00:02.000000000Z three",
        b"1970-01-01T00:00:09.000000000Z four",
    ]


def test_a_line_that_comes_in_parts_has_one_time_and_an_empty_one_too() -> None:
    assert stamp([b"on", b"e\n", b"\n", b"t", b"wo"]) == (
        b"1970-01-01T00:00:09.000000000Z one\n1970-01-01T00:00:09.000000000Z \n1970-01-01T00:00:09.000000000Z two"
    )


@pytest.mark.parametrize("moment", [-1.0, 1e18, float("1e300")])
def test_a_time_that_nobody_can_write_is_no_crash(moment: float) -> None:
    assert STAMP.match(stamp([b"x\n"], lambda _: moment))


@given(
    st.lists(st.binary(max_size=9).map(lambda data: data.replace(b"a", b"\n")), max_size=9), st.lists(st.floats(0, 99))
)
def test_nothing_but_times_is_added_and_they_never_go_back(pieces: list[bytes], times: list[float]) -> None:
    out = stamp(pieces, lambda offset: times[offset] if offset < len(times) else None)
    assert STAMP.sub(b"", out) == b"".join(pieces)
    found = STAMP.findall(out)
    assert found == sorted(found)
    lines = b"".join(pieces).split(b"\n")
    assert len(found) == len(lines) - (lines[-1] == b"")


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(0, 60), st.integers(1, 5))
def test_the_marks_are_found_as_if_all_were_read(steps: list[int], begin: int, block: int) -> None:
    data, offset = b"", 0
    for number, step in enumerate(steps):
        offset += step
        data += write_mark(offset, float(number))
    marks = read_marks(data)

    def read(size: int, place: int) -> bytes:
        return data[place : place + min(size, block * MARK_BYTES)]

    reader = MarkReader(read, len(data), offset, begin)
    assert [reader.time_of(each) for each in range(begin, 400, 7)] == [
        marks.time_of(each) for each in range(begin, 400, 7)
    ]


def test_marks_of_a_log_that_was_cut_say_nothing() -> None:
    data = write_mark(4, 1.0) + write_mark(90, 2.0)
    assert MarkReader(lambda size, place: data[place : place + size], len(data), 8, 0).time_of(0) is None


def test_marks_that_come_later_are_read() -> None:
    data = [write_mark(4, 1.0)]
    reader = MarkReader(lambda size, place: b"".join(data)[place : place + size], MARK_BYTES, 8, 0)
    assert (reader.time_of(3), reader.time_of(4)) == (1.0, None)
    data.append(write_mark(8, 2.0) + b"torn")
    assert (reader.time_of(4), reader.time_of(8)) == (2.0, None)
