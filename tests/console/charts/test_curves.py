"""Curves of a job: one axis, segments of attempts, what was repeated."""

from __future__ import annotations

import pytest

from paddock.console.charts.curves import Chart, RankAttempt, build_chart, choose_axis
from paddock.console.charts.numbers import LogNumbers


def read(*lines: str) -> LogNumbers:
    numbers = LogNumbers()
    for number, line in enumerate(lines):
        numbers.add(number, line.encode())
    return numbers


def chart(*attempts: LogNumbers) -> Chart:
    built = build_chart("loss", {RankAttempt("worker-0", attempt): log for attempt, log in enumerate(attempts)})
    assert built is not None
    return built


AXES = [
    (["step 1 loss 0.5", "step 2 loss 0.4"], "step", [1, 2]),
    (["epoch 1 loss 0.5", "epoch 2 loss 0.4"], "epoch", [1, 2]),
    (["loss: 0.5", "loss: 0.4"], "reading", [0, 1]),
    (["epoch 1 step 5 loss 0.5", "epoch 2 step 10 loss 0.4"], "step", [5, 10]),
    (["epoch 1 step 9/10 loss 0.5", "epoch 2 step 1/10 loss 0.4"], "step", [9, 11]),
    (["epoch 0 step 9/10 loss 0.5", "epoch 1 step 1/10 loss 0.4"], "step", [9, 11]),
    (["epoch 0 step 0 loss 0.5", "epoch 0 step 3 loss 0.5", "epoch 1 step 0 loss 0.4"], "epoch", [0, 0.75, 1]),
]


@pytest.mark.parametrize(("lines", "axis", "xs"), AXES)
def test_the_axis_is_that_of_the_whole_training(lines: list[str], axis: str, xs: list[float]) -> None:
    log = read(*lines)
    assert choose_axis([log]) == axis
    assert list(chart(log).segments[0].xs) == xs


def test_what_a_restart_does_again_is_marked_and_draws_no_line_back() -> None:
    first = read(*(f"step {step} loss 0.{step}" for step in range(1, 7)))
    second = read(*(f"step {step} loss 0.{step}" for step in range(4, 9)))
    built = chart(first, second)
    assert [(each.place.attempt, each.repeated, list(each.xs)) for each in built.segments] == [
        (0, False, [1, 2, 3]),
        (0, True, [3, 4, 5, 6]),
        (1, False, [4, 5, 6, 7, 8]),
    ]
    assert built.restarts == {1: 4}


def test_an_attempt_from_a_checkpoint_continues_where_it_was() -> None:
    first = read("epoch 1 step 2/2 loss 0.5", "epoch 2 step 1/2 loss 0.4", "epoch 2 step 2/2 loss 0.4")
    second = read("epoch 3 step 1/2 loss 0.3")
    built = chart(first, second)
    assert [(each.repeated, list(each.xs)) for each in built.segments] == [(False, [2, 3, 4]), (False, [5])]


def test_attempts_that_say_no_place_stand_behind_each_other() -> None:
    built = chart(read("loss: 0.5", "loss: 0.4"), read("loss: 0.3"))
    assert [(each.repeated, list(each.xs)) for each in built.segments] == [(False, [0, 1]), (False, [2])]
    assert built.restarts == {1: 2}


def test_a_curve_with_fewer_points_than_readings_knows_their_means() -> None:
    log = read(*(f"step {step} loss {9.5 if step == 50 else 0.5}" for step in range(100)))
    built = build_chart("loss", {RankAttempt("worker-0", 0): log}, most=10)
    assert built is not None
    segment = built.segments[0]
    assert max(y or 0 for y in segment.ys) == 9.5
    assert segment.means is not None and len(segment.means) == len(segment.ys)
    assert max(mean or 0 for mean in segment.means) < 1


def test_a_line_that_goes_back_within_an_attempt_is_left_out() -> None:
    assert list(chart(read("step 1 loss 0.5", "step 5 loss 0.4", "step 2 loss 0.9")).segments[0].xs) == [1, 5]


def test_a_loss_that_is_no_number_is_a_gap_and_is_counted() -> None:
    built = chart(read("step 1 loss 0.5", "step 2 loss nan", "step 3 loss 0.25"))
    assert list(built.segments[0].ys) == [0.5, None, 0.25]
    summary = built.summaries[0]
    assert (summary.wrong, summary.lowest, summary.highest, summary.last) == (1, 0.25, 0.5, 0.25)
    assert (summary.line, summary.text) == (2, "step 3 loss 0.25")


def test_a_number_that_nobody_printed_has_no_chart() -> None:
    assert build_chart("accuracy", {RankAttempt("worker-0", 0): read("step 1 loss 0.5")}) is None
