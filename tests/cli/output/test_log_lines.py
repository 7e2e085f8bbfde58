"""Bytes into lines, wherever the chunks are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.cli.output.log_lines import Lines, build_tail


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


def test_the_tail_leaves_out_empty_lines() -> None:
    assert build_tail("a\n\nb  \n\n\nc\n\n", 2) == ["b", "c"]
