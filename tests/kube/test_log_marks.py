"""Marks: when the lines of a log were printed."""

from __future__ import annotations

import math

import pytest

from paddock.kube.log_marks import Marks, read_marks, write_mark


def build(*marks: tuple[int, float]) -> bytes:
    return b"".join(write_mark(*mark) for mark in marks)


@pytest.mark.parametrize(("offset", "time"), [(0, 100.0), (9, 100.0), (10, 101.5), (29, 101.5), (30, None), (99, None)])
def test_a_byte_was_printed_by_the_first_mark_behind_it(offset: int, time: float | None) -> None:
    assert read_marks(build((10, 100.0), (30, 101.5))).time_of(offset) == time


@pytest.mark.parametrize(("moment", "offset"), [(0.0, 0), (100.0, 0), (100.1, 10), (101.5, 10), (102.0, 30)])
def test_what_was_printed_since_a_moment_begins_behind_the_last_mark_before_it(moment: float, offset: int) -> None:
    assert read_marks(build((10, 100.0), (30, 101.5))).offset_since(moment) == offset


def test_nothing_is_known_without_marks() -> None:
    assert Marks().time_of(0) is None and len(Marks()) == 0 == Marks().offset_since(5.0)


@pytest.mark.parametrize(
    ("data", "marks"),
    [
        (b"", []),
        (build((10, 1.0))[:-1], []),
        (build((10, 1.0), (20, 2.0)) + b"half a mark", [(10, 1.0), (20, 2.0)]),
        (build((10, 1.0), (10, 2.0), (5, 3.0), (-1, 3.0)), [(10, 1.0)]),
        (build((10, 5.0), (20, 4.0)), [(10, 5.0), (20, 5.0)]),  # a clock that was set back
        (build((10, math.nan), (20, math.inf), (30, 2.0)), [(30, 2.0)]),
    ],
)
def test_what_is_no_mark_or_out_of_order_is_left_out(data: bytes, marks: list[tuple[int, float]]) -> None:
    read = read_marks(data)
    assert list(zip(read.offsets, read.times, strict=True)) == marks
