"""Lines with times, as an API streams them: cut anywhere, broken off and asked for again."""

from __future__ import annotations

import pytest

from paddock.app.consoles.spool.timed_lines import LONGEST, PART, TimedLines
from paddock.kube.times import Moment

NINE = 1_000_000_000


def at(second: float, text: str) -> bytes:
    whole, part = divmod(round(second * NINE), NINE)
    return f"2026-11-22T22:00:{whole:02d}.{part:09d}Z {text}\n".encode()


T0 = 1_795_384_800.0  # 2026-11-22T22:00:00Z


def read(lines: TimedLines, *chunks: bytes) -> tuple[bytes, list[tuple[int, Moment]]]:
    text, marks = b"", []
    for chunk in chunks:
        more, found = lines.feed(chunk)
        text, marks = text + more, marks + found
    more, found = lines.end()
    return text + more, marks + found


LOG = at(1, "one") + at(1.5, "") + at(2, "2026-11-22T22:00:00Z in a line") + at(3, "x" * 100)


@pytest.mark.parametrize("step", [1, 7, 31, 64, 10_000])
def test_times_are_taken_off_wherever_the_stream_is_cut(step: int) -> None:
    text, marks = read(TimedLines(), *(LOG[place : place + step] for place in range(0, len(LOG), step)))
    assert text == b"one\n\n2026-11-22T22:00:00Z in a line\n" + b"x" * 100 + b"\n"
    assert marks[0] == (4, T0 + 1) and marks[-1] == (len(text), T0 + 3)
    assert [time for _, time in marks] == sorted(time for _, time in marks)


def test_lines_that_came_together_share_a_mark() -> None:
    text, marks = read(TimedLines(), b"".join(at(1 + n / 950, "a") for n in range(25)))
    assert [offset for offset, _ in marks] == [20, 40, 50] and len(text) == 50


@pytest.mark.parametrize(
    ("again", "text"),
    [
        (at(1, "a") + at(1, "b") + at(1, "c") + at(1.2, "d"), b"c\nd\n"),
        (at(0.9, "z") + at(1, "a") + at(1, "b") + at(1.1, "c"), b"c\n"),
        (at(1, "a") + at(1.1, "late") + at(1, "b") + at(1.05, "c"), b"c\n"),  # two streams of a container
        (at(3, "far on: the log was rotated"), b"far on: the log was rotated\n"),
        (b"", b""),
    ],
)
def test_a_stream_that_broke_goes_on_behind_the_last_line_that_is_there(again: bytes, text: bytes) -> None:
    """`a` and `b` of one time are there, 4 bytes."""
    first = TimedLines()
    first.feed(at(1, "a") + at(1, "b") + at(1.3, "torn")[:-1])
    assert (first.whole, first.repeats) == (4, 2)
    read_again, marks = read(TimedLines(first.whole, first.last, first.repeats), again)
    assert read_again == text
    assert all(offset > 4 for offset, _ in marks)


def test_zones_and_whole_seconds_are_times_too() -> None:
    text, marks = read(TimedLines(), b"2026-11-23T06:00:01+08:00 a\n2026-11-22T22:00:02.5Z b\n")
    assert (text, marks) == (b"a\nb\n", [(2, T0 + 1), (4, T0 + 2.5)])


def test_a_line_without_a_time_is_kept_as_it_is() -> None:
    text, marks = read(TimedLines(), b"failed to watch file\n" + at(1, "a"))
    assert (text, marks) == (b"failed to watch file\na\n", [(23, T0 + 1)])


def test_a_line_of_megabytes_is_not_held_back() -> None:
    lines = TimedLines()
    text, _ = lines.feed(at(1, "y" * 1_000_000)[:-1])
    assert len(text) == 1_000_000 and lines.whole == 0


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("step", [7, 4_096, 16_384, 100_000])
def test_a_line_that_the_runtime_wrote_in_parts_is_one_line(step: int, times: bool) -> None:
    """With the time of each part in it, as kubelet 1.20 has them, or with the first alone."""
    parts = ["y" * PART, "y" * PART, "2026 is no time " + "y" * 5_000]
    told = "".join(at(1 + place / 100, part).decode()[: None if place == 2 else -1] for place, part in enumerate(parts))
    if not times:
        told = at(1, "".join(parts)).decode()
    told_after = told.encode() + at(2, "z" * PART) + at(3, "next")
    chunks = (told_after[place : place + step] for place in range(0, len(told_after), step))
    text, marks = read(TimedLines(), *chunks)
    assert text == "".join(parts).encode() + b"\n" + b"z" * PART + b"\nnext\n"
    assert marks[-1] == (len(text), T0 + 3)


@pytest.mark.parametrize("parts", [False, True], ids=["one time", "a time for each part"])
def test_of_a_line_without_an_end_the_beginning_is_kept_and_the_rest_is_counted(parts: bool) -> None:
    lines, stamp, more = TimedLines(), at(1, "")[:-1], 3 * LONGEST // PART
    written, _ = lines.feed(stamp)
    for number in range(more):
        text, _ = lines.feed((stamp if parts and number else b"") + b"x" * PART)
        written += text
        assert len(text) <= 2 * PART and len(written) <= LONGEST
    text, _ = lines.feed(b"\n" + at(2, "next"))
    written += text
    cut = b" ... [%d bytes of this line are not copied]\n" % (2 * LONGEST)
    assert written == b"x" * LONGEST + cut + b"next\n"
    assert lines.whole == lines.size == len(written)


def test_lines_that_are_lost_between_two_streams_are_told() -> None:
    lines = TimedLines(4, round((T0 + 1) * NINE), 2)
    lines.feed(at(3, "far on"))
    assert lines.gap == (T0 + 1, T0 + 3)
    lines = TimedLines(4, round((T0 + 1) * NINE), 2)
    lines.feed(at(1, "a") + at(1, "b") + at(3, "far on"))
    assert lines.gap is None
