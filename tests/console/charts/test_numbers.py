"""Numbers read from a log as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from paddock.console.charts.numbers import LogNumbers, read_numbers
from paddock.history.log_index import Line
from paddock.logs.epochs import Position
from paddock.logs.metric_lines import Piece, Place

LINES = [f"epoch 1  step {step}/9  loss 0.{step}".encode() for step in range(1, 10)]


def walk_over(lines: Sequence[bytes], walked: list[int]) -> Callable[[int], Iterable[Line]]:
    def walk(begin: int) -> Iterator[Line]:
        for number in range(begin, len(lines)):
            walked.append(number)
            yield Line(number, lines[number], len(lines[number]))

    return walk


def never() -> bool:
    return False


def test_only_what_was_added_is_read_again() -> None:
    numbers, walked = LogNumbers(), list[int]()
    read_numbers(numbers, walk_over(LINES[:5], walked), 4, never)
    assert list(numbers.series["loss"].values) == [0.1, 0.2, 0.3, 0.4]
    walked.clear()
    read_numbers(numbers, walk_over(LINES, walked), 8, never)
    assert walked == [4, 5, 6, 7, 8]  # the ninth was looked at, and has not ended
    assert list(numbers.series["loss"].steps) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert numbers.series["loss"].text == LINES[7].decode()
    assert list(numbers.series["loss"].lines)[-1] == 7


def test_a_look_ends_when_its_time_is_over_and_the_next_goes_on() -> None:
    lines = [b"loss: 0.5"] * 2_500
    numbers = LogNumbers()
    read_numbers(numbers, walk_over(lines, []), 2_500, lambda: numbers.read > 0)
    assert numbers.read == 1_000
    read_numbers(numbers, walk_over(lines, []), 2_500, never)
    assert numbers.read == 2_500


def test_each_state_of_a_bar_is_a_reading() -> None:
    numbers = LogNumbers()
    states = [f"{done}%|██| {done}/100 [00:01<00:02, 3.6it/s, loss=0.{done}]" for done in (10, 20, 30)]
    numbers.add(0, "\r".join(states).encode())
    assert list(numbers.series["speed"].values) == [3.6, 3.6, 3.6]
    assert numbers.series["speed"].unit == "it/s"
    assert list(numbers.series["loss"].steps) == [10, 20, 30]


@pytest.mark.slow
def test_a_long_series_stays_bounded_and_keeps_its_extremes() -> None:
    numbers = LogNumbers()
    for step in range(50_000):
        numbers.add(step, b"step %d loss %s" % (step, b"99.5" if step == 12_345 else b"0.5"))
    assert len(numbers.series["loss"].values) <= 20_000
    assert max(numbers.series["loss"].values) == 99.5


def test_an_evaluation_stands_where_the_training_does() -> None:
    """It says its epoch at most: without a step it would stand at the beginning of the axis."""
    numbers = LogNumbers()
    for number, line in enumerate((b"epoch 1 step 40/50 loss 0.5", b"Eval begin...", b"step 3/9 - loss: 0.75")):
        numbers.add(number, line)
    numbers.add(3, b"epoch 1, val_loss: 0.7, val_accuracy: 0.5")
    assert list(numbers.series["loss"].values) == [0.5]
    found = numbers.series["val_loss"]
    assert (list(found.values), list(found.steps), list(found.ends)) == ([0.75, 0.7], [40, 40], [0, 1])
    assert list(numbers.series["val_accuracy"].values) == [0.5]


def test_the_nearest_line_is_known_while_there_is_no_number() -> None:
    numbers = LogNumbers()
    numbers.add(0, b"step 3 loss: unknown")
    found = numbers.find_nearest()
    assert found is not None and found.line == "step 3 loss: unknown"
    numbers.add(1, b"step 3 loss: 0.5")
    assert numbers.find_nearest() is None


def test_bytes_that_are_no_text_are_no_numbers() -> None:
    numbers = LogNumbers()
    numbers.add(0, b"\xff\xfe loss: \x00\x80 0.5")
    assert not numbers.series and numbers.read == 1


LOOKS = [
    ([(0.0, "step 10 loss 0.5"), (20.0, "step 60 loss 0.5")], [2.5]),
    ([(0.0, "step 10 loss 0.5")], []),
    ([(0.0, "step 10 loss 0.5"), (20.0, "hello"), (40.0, "step 60 loss 0.5")], [1.25]),
    ([(0.0, "step 10 loss 0.5"), (2.0, "step 11 loss 0.5"), (20.0, "step 60 loss 0.5")], [2.5]),
    ([(0.0, "step 60 loss 0.5"), (20.0, "step 10 loss 0.5"), (40.0, "step 20 loss 0.5")], [0.5]),
    ([(0.0, "epoch 1 step 90/100 loss 0.5"), (20.0, "epoch 2 step 10/100 loss 0.5")], [1.0]),
    ([(0.0, "epoch 1 step 90 loss 0.5"), (20.0, "epoch 2 step 10 loss 0.5")], []),
    ([(0.0, "loss: 0.5"), (20.0, "loss: 0.4")], []),
]


@pytest.mark.parametrize(("looks", "speeds"), LOOKS)
def test_steps_a_second_are_measured_between_looks(looks: list[tuple[float, str]], speeds: list[float]) -> None:
    numbers = LogNumbers()
    for number, (now, line) in enumerate(looks):
        numbers.add(number, line.encode())
        numbers.measure(now)
    measured = numbers.series.get("measured")
    assert (list(measured.values) if measured else []) == speeds


def test_of_a_file_of_metrics_that_was_cut_or_replaced_what_it_says_now_is_drawn() -> None:
    numbers = LogNumbers()
    numbers.add(0, b"epoch 1 step 1 loss 9.0 acc 0.5")
    numbers.add_written(Piece(b'{"loss": 0.1, "tokens": 1}\n{"loss": 0.2, "to', Place(40, 7)))
    assert list(numbers.series["loss"].values) == [0.1]
    numbers.add_written(Piece(b'{"loss": 0.3}\n', Place(14, 8), anew=True))
    assert list(numbers.series["loss"].values) == [0.3]
    assert "own:tokens" not in numbers.series and list(numbers.series["accuracy"].values) == [0.5]
    assert (numbers.written, numbers.problem) == (Place(14, 8), None)
    numbers.add(1, b"epoch 1 step 2 loss 9.0")
    assert list(numbers.series["loss"].values) == [0.3], "what is printed still counts less"


def test_what_is_drawn_stays_as_it_is_while_another_reader_reads_on() -> None:
    numbers = LogNumbers()
    numbers.add(0, b"epoch 1 step 1 loss 0.5 reward 3.5")
    drawn = numbers.copy()
    for step in range(2, 6_000):
        numbers.add(step, b"epoch 2 step %d loss 0.5 reward 3.5 entropy 0.5" % step)
    numbers.add_written(Piece(b'{"reward": 1}\n', Place(14, 8)))
    assert {name: list(each.values) for name, each in drawn.series.items()} == {"loss": [0.5], "own:reward": [3.5]}
    assert drawn.printed.at == Position(0, 1) and not drawn.is_on_purpose("own:reward")
