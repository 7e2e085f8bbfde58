"""The loss of a log in a few readings: of any length, with half lines, without a loss."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from paddock.console.backend import Spark
from paddock.console.charts.sparks import BLOCK, READINGS, draw_spark, read_spark


def read(text: str, asked: list[int] | None = None) -> Spark | None:
    data = text.encode()

    def read_bytes(place: int, most: int) -> bytes:
        if asked is not None:
            asked.append(most)
        return data[place : place + most]

    return read_spark(read_bytes, len(data))


def test_a_short_log_is_read_whole() -> None:
    found = read(
        "hello\nepoch 1 step 1/3 loss 0.5\nepoch 1 step 2/3 loss 0.4\nepoch 1 step 3/3 loss 0.2\nstep 9 loss 7"
    )
    assert found is not None
    assert (found.values, found.last, found.step, found.steps) == ((0.5, 0.4, 0.2), 0.2, 3, 3), (
        "the last is half a line"
    )


def test_a_long_log_is_read_in_a_few_blocks_from_its_first_to_its_last_line() -> None:
    asked: list[int] = []
    found = read("".join(f"step {step} loss {10_000 - step}\n" for step in range(1, 200_000)), asked)
    assert found is not None
    assert asked == [BLOCK] * READINGS
    assert len(found.values) == READINGS and found.values[0] == 9_999.0
    assert (found.last, found.step) == (10_000.0 - 199_999, 199_999)


_FALLS = "{said}epoch 1 loss 0.5\n{said}epoch 2 loss 0.25\n{said}epoch 3 loss 0.125\n"
_IN_TURN = "".join(f"[rank {rank}] epoch {epoch} loss {rank + 1 / epoch}\n" for epoch in (1, 2) for rank in (1, 0))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (_FALLS.format(said="rank 0 ") + _FALLS.format(said="rank 1 "), (0.5, 0.25, 0.125)),
        (_IN_TURN, (1.0, 0.5)),
        (_FALLS.format(said="") * 2, (0.5, 0.25, 0.125)),
        ("".join(f"epoch {place // 2} step {place % 2} loss {place}\n" for place in range(4)) * 2, (0, 1, 2, 3)),
        ("epoch 1 loss 4\nepoch 2 loss 3\nepoch 1 loss 3.5\nepoch 3 loss 2\n", (3.5, 2)),
    ],
    ids=["one after another", "in turn", "without a rank", "steps of epochs", "nearly in turn"],
)
def test_the_curve_of_a_log_into_which_two_processes_print_is_that_of_one(text: str, values: Sequence[float]) -> None:
    found = read(text)
    assert found is not None and found.values == values


def test_of_a_long_log_into_which_two_ranks_print_lines_of_the_lowest_are_read() -> None:
    found = read(
        "".join(f"rank {rank} step {step} loss {rank + 1 / step}\n" for step in range(1, 9999) for rank in (1, 0))
    )
    assert found is not None and list(found.values) == sorted(found.values, reverse=True)


@pytest.mark.parametrize("text", ["", "hello\n" * 50_000, "step 1 loss 0.5\n", "step 1 loss nan\nstep 2 loss nan\n"])
def test_without_two_losses_there_is_none(text: str) -> None:
    assert read(text) is None


def test_a_curve_fills_its_picture() -> None:
    assert draw_spark([2.0, 1.0, 0.0]) == "0.0,1.0 32.0,8.0 64.0,15.0"
    assert draw_spark([1.0, 1.0]) == "0.0,1.0 64.0,1.0"
