"""Bytes into lines, wherever the chunks are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.cli.output.log_lines import Lines, Unended, build_tail


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"on", b"e\ntw", b"o"], ["one", "two"]),
        ([b"\n\n"], ["", ""]),
        ([b"10 %\r20 %\r30 %\ndone\n"], ["30 %", "done"]),
        ([b"windows\r\n"], ["windows"]),
        ([b"\xe8\xae", b"\xad\n"], ["训"]),
        ([b"\xff\n"], ["�"]),
        ([], []),
    ],
)
def test_chunks_become_lines(chunks: list[bytes], lines: list[str]) -> None:
    cutter = Lines()
    assert [*(line for chunk in chunks for line in cutter.feed(chunk)), *cutter.end()] == lines
    assert cutter.seen == sum(map(len, chunks))


@given(st.lists(st.text(alphabet="ab日\n", max_size=12)), st.integers(1, 5))
def test_where_chunks_are_cut_does_not_matter(texts: list[str], size: int) -> None:
    data = "\n".join(texts).encode()
    whole, pieces = Lines(), Lines()
    expected = [*whole.feed(data), *whole.end()]
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert [*(line for chunk in chunks for line in pieces.feed(chunk)), *pieces.end()] == expected


def test_a_line_without_end_is_shown_in_pieces() -> None:
    cutter = Lines()
    shown = [line for _ in range(4) for line in cutter.feed(b"x" * 30_000)]
    assert shown == ["x" * 90_000]


def test_a_line_that_has_no_end_is_known_as_such() -> None:
    cutter = Lines()
    lines = [*cutter.feed(b"whole\n" + b"x" * 70_000), *cutter.feed(b"y\nlast"), *cutter.end()]
    assert [(line[-1], isinstance(line, Unended)) for line in lines] == [
        ("e", False), ("x", True), ("y", False), ("t", True),
    ]  # fmt: skip


@pytest.mark.parametrize("more", range(4))
def test_a_character_is_not_cut_where_a_long_line_is(more: int) -> None:
    text = "日" * 30_000
    cutter = Lines()
    lines = [*cutter.feed(b"a" * more + text.encode()[:-1]), *cutter.feed(text.encode()[-1:]), *cutter.end()]
    assert "".join(lines) == "a" * more + text


def test_the_tail_leaves_out_empty_lines() -> None:
    assert build_tail(b"a\n\nb  \n\n\nc\n\n", 2) == ["b", "c"]


def test_the_tail_is_the_program_s_unless_it_printed_nothing() -> None:
    chatter = b"LAUNCH INFO 2026-11-20 15:42:04,579 Exit code 1\n"
    assert build_tail(b"mine\n10 %\r20 %\n" + chatter, 5) == ["mine", "20 %"]
    assert build_tail(chatter, 5) == [chatter.decode().strip()]


def test_a_bar_of_hours_does_not_fill_the_memory() -> None:
    cutter = Lines()
    for percent in range(5_000):
        assert cutter.feed(b"\r%5d%% %s" % (percent, b"#" * 100)) == []
        assert len(cutter.live) < 200
    assert cutter.feed(b"\n") == [" 4999% " + "#" * 100]


def test_only_a_bar_is_drawn_while_it_is_written() -> None:
    cutter = Lines()
    drawn = []
    for chunk in (b"half a li", b"ne\n", b"\r10 %", b"\r20 %", b"|", b"\ndone"):
        cutter.feed(chunk)
        drawn.append(cutter.live)
    assert drawn == ["", "", "10 %", "20 %", "20 %|", ""]


def test_raw_keeps_every_state_of_a_bar() -> None:
    cutter = Lines(raw=True)
    assert [*cutter.feed(b"10 %\r20 %"), *cutter.feed(b"\r30 %\r\n")] == ["10 %\r20 %\r30 %"]


def test_the_last_lines_have_no_colours_as_they_are_quoted() -> None:
    assert build_tail(b"\x1b[31mValueError\x1b[0m: 3\n", 5) == ["ValueError: 3"]
