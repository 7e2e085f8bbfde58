"""The lines of a log that grows, against what splitting the whole file gives."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paddock.console.logs.wanted import Wanted
from paddock.history.log_index import LONGEST, STEP, LineIndex


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


PIECES = st.lists(st.one_of(st.sampled_from([b"\n", b"a\n", b"x" * 300 + b"\n", b"\n" * STEP]), st.binary(max_size=40)))


@given(PIECES, st.integers(0, 3 * STEP), st.integers(0, 2 * STEP))
def test_any_lines_of_a_log_that_grows_are_those_of_the_whole_file(pieces: list[bytes], begin: int, count: int) -> None:
    index, whole = LineIndex(), b""
    with tempfile.TemporaryFile() as file:
        for piece in pieces:
            file.write(piece)
            file.flush()
            whole += piece
            assert index.update(file.fileno()) == len(_lines(whole))
        read = index.read(file.fileno(), begin, count)
        # zeros at its begin are what the node has left out of a log that was too large
        assert [line.data for line in read] == [each.lstrip(b"\0") for each in _lines(whole)[begin : begin + count]]
        assert [line.number for line in read] == list(range(begin, begin + len(read)))


def test_a_line_of_50_megabytes_is_cut_and_its_size_told(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"first\n" + b"y" * 50_000_000 + b"\nlast")
    file, index = os.open(path, os.O_RDONLY), LineIndex()
    assert index.update(file) == 3
    first, long, last = index.read(file, 0, 10)
    assert (first.data, last.data) == (b"first", b"last")
    assert (len(long.data), long.size) == (LONGEST, 50_000_000)
    os.close(file)


def test_a_log_that_has_become_shorter_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"a\nb\nc\n")
    file, index = os.open(path, os.O_RDWR), LineIndex()
    assert index.update(file) == 3
    os.truncate(path, 2)
    assert index.update(file) == 1
    os.close(file)


def test_a_pattern_is_found_by_the_number_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(5_000)))
    file, index = os.open(path, os.O_RDONLY), LineIndex()
    index.update(file)
    assert list(index.find(file, re.compile(rb"line 49\d\d$"), begin=4_950)) == list(range(4_950, 5_000))
    os.close(file)


PATTERNS = st.sampled_from([rb"a", rb"^a", rb"a$", rb"^$", rb"[^b]a", rb"x+", rb"a|^b", rb"\s", rb"[^z]*"])


@example([b"a\n", b"\x00"], rb"^$", 0, 2)  # what follows the last newline of a block is no line of it
@given(PIECES, PATTERNS, st.integers(0, 2 * STEP), st.integers(0, 4 * STEP))
def test_a_pattern_is_found_in_the_lines_in_which_each_alone_has_it(
    pieces: list[bytes], text: bytes, begin: int, end: int
) -> None:
    index, whole, pattern = LineIndex(), b"".join(pieces), re.compile(text)
    with tempfile.TemporaryFile() as file:
        file.write(whole)
        file.flush()
        index.update(file.fileno())
        expected = [number for number, line in enumerate(_lines(whole)) if pattern.search(line)] if whole else []
        assert list(index.find(file.fileno(), pattern, begin, end)) == [n for n in expected if begin <= n < end]


def test_a_pattern_is_found_before_and_behind_a_line_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"here\n" + b"y" * 50_000_000 + b"here\nand here")
    file, index = os.open(path, os.O_RDONLY), LineIndex()
    index.update(file)
    assert list(index.find(file, re.compile(rb"here"))) == [0, 2]
    os.close(file)


@pytest.mark.parametrize("wanted", [Wanted(level="error"), Wanted(level="warning"), Wanted("disk"), Wanted("Disk"),
                                    Wanted("disk", level="error")])  # fmt: skip
def test_hints_find_what_the_pattern_finds_in_every_line(tmp_path: Path, wanted: Wanted) -> None:
    lines = [
        "ERROR: disk", "an Error", "error", "terrors", "ValueError: x", "MyException", "[E1122 x", "E1122 x", "Else",
        "\x1b[31mERROR\x1b[0m", "Segmentation fault (core dumped)", "fatal: no", "FATAL", "CRITICAL Disk", "WARNING d",
        "UserWarning: disk", "W1122 x", "[W1122", "", "disk", "DISK", "Traceback (most recent call last):", "warn",
    ]  # fmt: skip
    path = tmp_path / "log"
    path.write_text("\n".join([*lines, *reversed(lines)] * 40))
    file, index, pattern = os.open(path, os.O_RDONLY), LineIndex(), wanted.compile()
    index.update(file)
    expected = [line.number for line in index.walk(file) if pattern.search(line.data)]
    assert expected and list(index.find(file, pattern, hints=wanted.hints)) == expected
    assert list(index.find(file, pattern, 7, 90, wanted.hints)) == [each for each in expected if 7 <= each < 90]
    os.close(file)


@pytest.mark.parametrize(("length", "least", "most"), [(9, 400_000, 430_000), (9_999, 400, 430), (999_999, STEP, STEP)])
def test_a_slice_of_a_log_has_few_lines_where_they_are_long(tmp_path: Path, length: int, least: int, most: int) -> None:
    """Who looks at the clock after each slice keeps its time, however long the lines are."""
    path, index = tmp_path / "0.log", LineIndex()
    path.write_bytes((b"x" * length + b"\n") * max(3, 100_000 // length))
    with path.open("rb") as file:
        index.update(file.fileno())
    assert least <= index.lines_of(2**22) <= most
