"""Progress in log lines: the forms of the examples, and lines that only resemble them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.logs.progress import Progress, read_progress

LINES = [
    ("Worker 0: Epoch 1, Batch 100, Loss 0.5", Progress(epoch=1, step=100, loss=0.5, rank=0)),
    ("Worker 1: Epoch 1, Batch 100, Loss 0.6", Progress(epoch=1, step=100, loss=0.6, rank=1)),
    ("Epoch [10/100], Loss: 1.1248", Progress(epoch=10, epochs=100, loss=1.1248)),
    ("Epoch 0, Loss: 0.1234", Progress(epoch=0, loss=0.1234)),
    ("step12 cost=0.693100", Progress(step=12, loss=0.6931)),
    ("epoch 1  step 100/400  loss 0.5213", Progress(epoch=1, step=100, steps=400, loss=0.5213)),
    ("epoch 1/3  step 100/400  loss 5.2e-1", Progress(epoch=1, epochs=3, step=100, steps=400, loss=0.52)),
    ("Epoch 16 loss 0.058", Progress(epoch=16, loss=0.058)),
    ("epoch 1/3, loss=0.5", Progress(epoch=1, epochs=3, loss=0.5)),
    ("Epoch: 2  Loss: 1e-3", Progress(epoch=2, loss=0.001)),
    ("  Epoch 3, Loss: 2\n", Progress(epoch=3, loss=2.0)),
]
OTHERS = [
    "",
    "Epoch",
    "Epoch 3",
    "Epoch 3, Loss:",
    "Epoch x, Loss: 0.1",
    "Error during training epoch 3: Loss: 0.1234",
    "epoch 1  step 100  loss 0.5",
    "the loss 0.5213 of epoch 1",
    "Epoch 16 loss 0.058 is the lowest",
    "Epoch 16 lossy 0.058",
    "Epoch [10/100], Loss: 1.1248 (best so far)",
    "step12 cost=",
    "step12 costs=0.5",
    "http://host/epoch 1  step 100/400  loss 0.5213",
    "Epoch 3, Loss: 0.1.2",
    "Epoch " + "9" * 500 + ", Loss: 1",
    "LAUNCH INFO 2022-05-18 11:53:09,773 nnodes: 1",
]


@pytest.mark.parametrize(("line", "progress"), LINES)
def test_a_line_of_progress_is_read(line: str, progress: Progress) -> None:
    assert read_progress(line) == progress


@pytest.mark.parametrize("line", OTHERS)
def test_a_line_that_is_no_progress_is_none(line: str) -> None:
    assert read_progress(line) is None


def test_a_loss_that_is_no_number_is_reported_unchanged() -> None:
    progress = read_progress("Epoch 3, Loss: nan")
    assert progress is not None and progress.loss is not None and math.isnan(progress.loss)


@given(st.text(max_size=60) | st.from_regex(r"Epoch .{0,20}Loss.{0,20}"))
def test_any_line_can_be_read(line: str) -> None:
    read_progress(line)
