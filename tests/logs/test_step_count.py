"""Steps that a training has told since its first reading."""

from __future__ import annotations

import pytest

from paddock.logs.printed_lines import LineReader
from paddock.logs.progress import Progress
from paddock.logs.step_count import StepCount


def count(*lines: str) -> StepCount:
    reader, found = LineReader(), StepCount()
    for line in lines:
        if (progress := reader.read(line)) is not None:
            found = found.read(progress)
    return found


@pytest.mark.parametrize(
    ("lines", "steps", "epochs"),
    [
        ((), 0, 0),
        (("step 1 loss 0.5",), 0, 0),
        (("step 1 loss 0.5", "step 2 loss 0.4"), 1, 0),
        (("step 100 loss 0.5", "step 300 loss 0.4"), 200, 0),
        (("step 7 loss 0.5", "step 7 loss 0.5"), 0, 0),  # two processes of one step
        (("step 9 loss 0.5", "step 1 loss 0.4"), 1, 0),  # the count began anew
        (("epoch 1 step 9 loss 0.5", "epoch 2 step 1 loss 0.4"), 1, 1),
        (("epoch 1 step 9 loss 0.5", "epoch 2 step 19 loss 0.4"), 10, 1),
        (("epoch 0 loss 0.5", "epoch 1 loss 0.4"), 1, 1),
        (('{"loss": 0.5}', '{"loss": 0.4}', '{"loss": 0.3}'), 2, 0),
        (("step 1 loss 0.5", "val_loss: 0.4", "val_loss: 0.3"), 0, 0),
        (("hello", "step 1 of nothing"), 0, 0),
    ],
)
def test_steps_are_counted_beyond_the_first_reading(lines: tuple[str, ...], steps: int, epochs: int) -> None:
    found = count(*lines)
    assert (found.count(), found.epochs) == (steps, epochs)


def test_lines_without_a_number_are_shared_by_the_processes_of_a_pod() -> None:
    found = count(*('{"loss": 0.5}',) * 5)
    assert found.count(processes=2) == 2
    assert found.has_done(2, processes=2) and not found.has_done(3, processes=2)


def test_a_whole_epoch_is_enough() -> None:
    assert count("epoch 1 step 1 loss 0.5", "epoch 2 step 1 loss 0.4").has_done(50)
    assert not count("epoch 1 step 1 loss 0.5", "epoch 1 step 9 loss 0.4").has_done(50)


def test_numbers_without_a_place_count_where_they_change() -> None:
    first = StepCount().note_change()
    assert first.first is not None and first.count() == 0
    assert first.note_change().note_change().count() == 2


def test_of_several_processes_a_number_that_falls_is_no_step() -> None:
    """Each is at its own step, and no one has gone more than one on."""
    found = StepCount()
    for step in (0, 1, 0, 1, 0):
        found = found.read(Progress(step=step, loss=0.5))
    assert (found.count(), found.count(3)) == (4, 1)
    for step in (2, 1, 2):
        found = found.read(Progress(step=step, loss=0.5))
    assert found.has_done(2, 3) and found.count(3) == 2
