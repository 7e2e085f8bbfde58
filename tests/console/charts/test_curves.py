"""Curves of a job: one axis, segments of attempts, what was repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    assert choose_axis([log]).kind == axis
    assert list(chart(log).segments[0].xs) == xs


def bar(name: str, *steps: int, of: int = 40, told: str = "acc=0.5, loss=0.5") -> str:
    """The states of a bar, as they stand in one line of a log."""
    return "\r".join(f"{name}{100 * step // of}%|██| {step}/{of} [00:01<00:02, 3.6it/s, {told}]" for step in steps)


def epochs(*forms: str, count: int = 3, first: int = 1) -> list[str]:
    """The lines of some epochs."""
    return [form.format(e=epoch, last=epoch * 20) for epoch in range(first, first + count) for form in forms]


STEPS = ["Epoch {e} step 10/20 loss 0.5 acc 0.4", "Epoch {e} step 20/20 loss 0.4 acc 0.5"]
ALL, SUMMED = [10, 20, 30, 40, 50, 60], [10, 20, 20, 30, 40, 40, 50, 60, 60]
BAR, ENDS = [10, 40, 40, 50, 80, 80, 90, 120, 120], [40, 80, 120]
SUMS = "Epoch {e}/3 train loss 0.45 acc 0.5 val acc 0.45"
POINTS: list[tuple[str, list[str], str, Mapping[str, Sequence[float]]]] = [
    ("steps and a line that sums up", epochs(*STEPS, SUMS), "step",
     {"loss": SUMMED, "accuracy": SUMMED, "val_accuracy": [20, 40, 60]}),
    ("two lines that sum up", epochs(*STEPS, "Epoch {e} train loss: 0.5", "Epoch {e} val loss: 0.5"), "step",
     {"loss": SUMMED, "val_loss": [20, 40, 60]}),
    ("the last step of an epoch is not printed", epochs(STEPS[0], SUMS), "step",
     {"loss": [10, 20, 30, 40, 50, 60], "val_accuracy": [20, 40, 60]}),
    ("a bar that counts from 1", epochs(bar("Epoch {e}/3: ", 10, 40), SUMS), "step", {"loss": BAR, "accuracy": BAR}),
    ("a bar that counts from 0, and sums from 1",
     [*epochs(bar("epoch 0: ", 10, 40), SUMS, count=1), *epochs(bar("epoch 1: ", 10, 40), SUMS, count=1, first=2)],
     "step", {"loss": BAR[:6], "val_accuracy": ENDS[:2]}),
    ("sums that count from 0", epochs(bar("", 10, 40), "epoch {e}: loss 0.5, val_loss 0.5", first=0), "step",
     {"loss": BAR, "val_loss": ENDS}),
    ("a bar without a name", epochs(bar("", 10, 40), SUMS), "step", {"loss": BAR, "val_accuracy": ENDS}),
    ("a bar without a name alone", epochs(bar("", 10, 40)), "step", {"loss": [10, 40, 50, 80, 90, 120]}),
    ("the end of a long bar alone is kept", epochs(bar("", 35, 40)), "step", {"loss": [35, 40, 75, 80, 115, 120]}),
    ("a bar of the evaluation", epochs(bar("", 10, 40), bar("", 5, 10, of=10, told="loss=0.7")), "step",
     {"loss": [10, 40, 40, 40, 50, 80, 80, 80, 90, 120, 120, 120]}),
    ("an evaluation that says no epoch", epochs(bar("train: ", 10, 40), "val_loss: 0.5 val_acc: 0.9"), "step",
     {"loss": [10, 40, 50, 80, 90, 120], "val_loss": ENDS, "val_accuracy": ENDS}),
    ("steps without an epoch", epochs("step 5/20 loss 0.5", "step 10/20 loss 0.5", "step 15/20 loss 0.5"), "step",
     {"loss": [5, 10, 15, 25, 30, 35, 45, 50, 55]}),
    ("steps without an end", epochs("step 0 loss 0.5", "step 9 loss 0.5", "Epoch {e}: val_loss=0.5"), "epoch",
     {"loss": [1, 1.9, 2, 2.9, 3, 3.9], "val_loss": [1.9, 2.9, 3.9]}),
    ("steps of the whole training", epochs("step {last} loss 0.5", "Epoch {e}: val_loss=0.5"), "step",
     {"loss": [20, 40, 60], "val_loss": [20, 40, 60]}),
    ("evaluations within an epoch", epochs(STEPS[0], "[Eval][Epoch {e}][Avg]loss: 0.5", STEPS[1]), "step",
     {"loss": ALL, "val_loss": [10, 30, 50]}),
    ("an epoch without a step", [*epochs(*STEPS, SUMS, count=1), *epochs(SUMS, first=2, count=2)], "step",
     {"val_accuracy": [20, 20, 20]}),
    ("lines that sum up alone", epochs(SUMS), "epoch", {"loss": [1, 2, 3], "val_accuracy": [1, 2, 3]}),
    ("from a checkpoint on", epochs(*STEPS, SUMS, first=5, count=2), "step",
     {"loss": [90, 100, 100, 110, 120, 120], "val_accuracy": [100, 120]}),
    ("from a checkpoint on, of a bar without a name", epochs(bar("", 10, 40), SUMS, first=5, count=2), "step",
     {"loss": [170, 200, 200, 210, 240, 240], "val_accuracy": [200, 240]}),
    ("pytorch/examples: mnist", epochs("Train Epoch: {e} [0/1280 (0%)] Loss: 0.5", "Train Epoch: {e} [640/1280 (50%)] "
     "Loss: 0.5", "Test set: Average loss: 0.0312, Accuracy: 9900/10000 (99%)"), "step",
     {"loss": [0, 640, 1280, 1920, 2560, 3200], "val_loss": [640, 1920, 3200]}),
    ("transformers", ["{'loss': 1.5, 'epoch': 0.5}", "{'loss': 1.4, 'epoch': 1.0}", "{'eval_loss': 0.7, 'epoch': 1.0}",
                      "{'loss': 1.3, 'epoch': 1.5}", "{'eval_loss': 0.6, 'epoch': 1.52}"], "epoch",
     {"loss": [0.5, 1, 1.5], "val_loss": [1, 1.52]}),
    ("transformers, behind its bar", [bar("", 20, told="?") + "{'loss': 1.5, 'epoch': 0.5}",
                                      bar("", 40, told="?") + "{'loss': 1.5, 'epoch': 1.0}",
                                      "{'eval_loss': 0.7, 'epoch': 1.0}"], "step",
     {"loss": [20, 40], "val_loss": [40]}),
    ("PaddleNLP", epochs("[2026-03-07 11:53:09,773] [    INFO] - global step {last}, epoch: {e}, batch: 19, "
     "loss: 0.69, speed: 3.51 step/s", "eval loss: 0.54, accu: 0.8"), "step",
     {"loss": [20, 40, 60], "val_loss": [20, 40, 60]}),
    ("hapi", epochs("Epoch {e}/3", "step 10/20 [===>...] - loss: 0.5 - acc: 0.5 - 9ms/step", "step 20/20 [=====] - "
     "loss: 0.4 - acc: 0.5 - 9ms/step", "Eval begin...", "step 5/5 [==] - loss: 0.7 - acc: 0.5 - 9ms/step"), "step",
     {"loss": ALL, "val_loss": [20, 40, 60], "val_accuracy": [20, 40, 60]}),
    ("Keras", epochs("Epoch {e}/3", "10/20 [===>...] - 9ms/step - loss: 0.5\r20/20 [=====] - 9ms/step - loss: 0.4 - "
     "val_loss: 0.6 - val_accuracy: 0.5"), "step", {"loss": ALL, "val_accuracy": [20, 40, 60]}),
    ("Lightning", epochs(bar("Epoch {e}: ", 10, 40, told="v_num=0, train_loss=0.5"),
     "Validation DataLoader 0: 100%|██| 5/5 [00:00<00:00, 512.30it/s]",
     bar("Epoch {e}: ", 40, told="v_num=0, train_loss=0.5, val_loss=0.5"), first=0), "step",
     {"loss": BAR, "val_loss": ENDS}),
    ("a loss that is no number, and one that rises",
     epochs("epoch {e} step 5/10 loss nan", "epoch {e} step 10/10 loss 9"), "step", {"loss": [5, 10, 15, 20, 25, 30]}),
    ("two processes in one log", [f"step {step} loss 0.5" for step in (0, 10, 0, 20, 10, 20, 30, 40, 30, 40)], "step",
     {"loss": [0, 10, 20, 20, 30, 40, 40]}),
    ("two processes in one log, at the end of an epoch", [f"step {step}/20 loss 0.5" for step in (10, 10, 20, 19, 20)],
     "step", {"loss": [10, 10, 20, 20]}),
    ("two ranks in one log, one of them behind", [f"rank {rank} step {step}/20 loss 0.5" for rank, step in
     ((0, 10), (1, 10), (0, 20), (0, 10), (1, 20), (1, 10), (0, 20))], "step", {"loss": [10, 10, 20, 30, 40, 40]}),
    ("a line that comes late", ["Epoch 1 step 20/20 loss 0.5", "Epoch 1 val_loss 0.5", "Epoch 2 step 10/20 loss 0.5",
     "Epoch 1 val_acc 0.5", "step 15/20 loss 0.5"], "step", {"loss": [20, 30, 35], "val_accuracy": [20]}),
    ("the steps of an evaluation", ["epoch 1 step 40/50 loss 0.5", "[Eval] epoch 1, step 5, loss: 0.7",
     "epoch 1 step 50/50 loss 0.5"], "step", {"loss": [40, 50], "val_loss": [40]}),
    ("the ranks of one log", epochs(*(f"rank {rank} step {step}/20 loss 0.5" for step in (10, 20) for rank in (0, 1))),
     "step", {"loss": [each for each in ALL for _ in (0, 1)]}),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "axis", "points"), [row[1:] for row in POINTS], ids=[row[0] for row in POINTS])
def test_lines_of_several_epochs_are_points_of_curves(
    lines: list[str], axis: str, points: dict[str, list[float]]
) -> None:
    log = read(*lines)
    for metric, xs in points.items():
        built = build_chart(metric, {RankAttempt("worker-0", 0): log})
        assert built is not None and built.axis == axis
        assert [list(map(pytest.approx, each.xs)) for each in built.segments] == [xs], metric


def test_of_two_ranks_one_may_sum_up_alone() -> None:
    first, second = read(*epochs(*STEPS, SUMS)), read(*epochs(SUMS))
    built = build_chart("loss", {RankAttempt("worker-0", 0): first, RankAttempt("worker-1", 0): second})
    assert built is not None and [list(each.xs) for each in built.segments] == [SUMMED, [20, 40, 60]]


def test_an_epoch_that_begins_again_from_a_checkpoint_is_drawn_where_it_was() -> None:
    form = [bar("", 10, 40), SUMS]
    built = chart(read(*epochs(*form), bar("", 10)), read(*epochs(*form, first=3, count=2)))
    assert [(each.repeated, list(each.xs)) for each in built.segments] == [
        (False, [10, 40, 40, 50, 80, 80]), (True, [80, 90, 120, 120, 130]), (False, [90, 120, 120, 130, 160, 160]),
    ]  # fmt: skip


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
