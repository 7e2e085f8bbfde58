"""Progress in log lines: the forms of the examples, and lines that only resemble them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.printed_lines import read_progress
from paddock.logs.progress import Progress

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
    ("epoch 1  step 100  loss 0.5", Progress(epoch=1, step=100, loss=0.5)),
    ("loss: 0.5", Progress(loss=0.5)),
    ("loss=0.25", Progress(loss=0.25)),
    (
        "Epoch 3 | Train Loss: 0.5 | Train Acc: 0.8 | Val Loss: 0.6",
        Progress(epoch=3, loss=0.5, accuracy=0.8, val_loss=0.6),
    ),
    ("epoch 3 accuracy 93.5%", Progress(epoch=3, accuracy=0.935)),
    ("step 10: 3.6 it/s", Progress(step=10, speed=3.6, unit="it/s")),
    ("step 12 loss 0.5 speed 100 samples/s", Progress(step=12, loss=0.5, speed=100.0, unit="samples/s")),
    ("step=10 samples/s=120.5 loss=0.5", Progress(step=10, loss=0.5, speed=120.5, unit="samples/s")),
    ("iter 100: loss 2.34, time 12.3ms, mfu 3.2%", Progress(step=100, loss=2.34, others={"mfu": 3.2})),
    ("step 250: train loss 2.1000, val loss 2.2000", Progress(step=250, loss=2.1, val_loss=2.2)),
    ("epoch 0 step 3/30 loss 2.6087 lr 0.1", Progress(epoch=0, step=3, steps=30, loss=2.6087, lr=0.1)),
    ("step 3 | loss 2.6 | learning rate 1e-4 | grad_norm 1.25", Progress(step=3, loss=2.6, lr=1e-4, grad_norm=1.25)),
    ("INFO:root:epoch 1 loss 0.5", Progress(epoch=1, loss=0.5)),
    ("2022-05-18 11:53:09 train.py:12 INFO step 3 loss 0.3", Progress(step=3, loss=0.3)),
    ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.512", Progress(epoch=1, step=640, steps=60000, loss=0.512)),
    (
        "Epoch: [0][  1/5005]\tTime  0.300 ( 0.300)\tData  0.1 ( 0.1)\tLoss 7.0e+00 (7.0e+00)\tAcc@1  25.00 ( 25.00)",
        Progress(epoch=0, step=1, steps=5005, loss=7.0, accuracy=25.0),
    ),
    (  # PaddleRec
        "epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], avg_reader_cost: 0.001 sec, ips: 512.3 ins/s",
        Progress(epoch=0, step=100, loss=0.69, accuracy=0.5, speed=512.3, unit="samples/s"),
    ),
    (  # PaddleClas
        "[2022/05/18 11:53:09] ppcls INFO: [Train][Epoch 1/120][Iter: 0/2502]lr(PiecewiseDecay): 0.1, top1: 0.25, "
        "CELoss: 7.0, loss: 7.5, batch_cost: 1.2s, reader_cost: 0.5, ips: 12.3 samples/s, eta: 1:02:03",
        Progress(
            epoch=1,
            epochs=120,
            step=0,
            steps=2502,
            loss=7.5,
            accuracy=0.25,
            speed=12.3,
            unit="samples/s",
            lr=0.1,
            others={"CELoss": 7.0},
        ),
    ),
    (  # PaddleDetection
        "[05/18 11:53:09] ppdet.engine INFO: Epoch: [0] [ 20/100] learning_rate: 0.0001 loss: 1.23 eta: 0:01:00 "
        "batch_cost: 0.30 data_cost: 0.002 ips: 12.3 images/s",
        Progress(epoch=0, step=20, steps=100, loss=1.23, speed=12.3, unit="images/s", lr=1e-4),
    ),
    (  # PaddleNLP
        "[2022-05-18 11:53:09,773] [    INFO] - loss: 0.5, learning_rate: 1e-05, global_step: 10, "
        "interval_samples_per_second: 12.3, epoch: 0.5",
        Progress(epochs_done=0.5, step=10, loss=0.5, speed=12.3, unit="samples/s", lr=1e-5),
    ),
    (  # paddle.Model.fit
        "step 10/938 [==>...........] - loss: 0.3 - acc: 0.9 - 10ms/step",
        Progress(step=10, steps=938, loss=0.3, accuracy=0.9, speed=100.0, unit="it/s"),
    ),
    ("1/10 [==>.......] - ETA: 3s - loss: 0.3 - accuracy: 0.9", Progress(step=1, steps=10, loss=0.3, accuracy=0.9)),
    (
        "45/100 ━━━━━━━━ 0s 5ms/step - accuracy: 0.9 - loss: 0.3",
        Progress(step=45, steps=100, loss=0.3, accuracy=0.9, speed=200.0, unit="it/s"),
    ),
    (
        " 45%|████      | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]",
        Progress(step=45, steps=100, loss=0.12, speed=3.6, unit="it/s"),
    ),
    (
        "Epoch 1:  45%|████      | 45/100 [01:12<01:15,  1.60s/it]",
        Progress(epoch=1, step=45, steps=100, speed=0.625, unit="it/s"),
    ),
    (  # Megatron
        " iteration       10/    1000 | consumed samples:           80 | elapsed time per iteration (ms): 123.4 | "
        "learning rate: 1.0E-04 | lm loss: 1.012E+01 | loss scale: 1.0 |",
        Progress(step=10, steps=1000, loss=10.12, lr=1e-4, others={"consumed samples": 80.0, "loss scale": 1.0}),
    ),
    ('{"epoch": 1, "step": 300, "loss": 0.5, "level": "info"}', Progress(epoch=1, step=300, loss=0.5)),
    (
        "{'loss': 0.5, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 2.0}",
        Progress(epoch=2, loss=0.5, grad_norm=1.2, lr=5e-5),
    ),
]
OTHERS = [
    "",
    "Epoch",
    "Epoch 3",
    "Epoch 3, Loss:",
    "Error during training epoch 3: Loss: 0.1234",
    "the loss 0.5213 of epoch 1",
    "Epoch 16 loss 0.058 is the lowest",
    "Epoch 16 lossy 0.058",
    "step12 cost=",
    "step12 costs=0.5",
    "http://host/epoch 1  step 100/400  loss 0.5213",
    "Epoch 3, Loss: 0.1.2",
    "Epoch " + "9" * 500 + ", Loss: 1",
    "the loss is 0.5",
    "loss: 2",
    "best loss: 0.5",
    "cost: 12.50",
    "accuracy: 0.93",
    "Test accuracy: 0.93",
    "ValueError: loss=nan",
    "AssertionError: step 3, loss: 0.5 is wrong",
    "Namespace(epochs=10, lr=0.1, loss=0.5)",
    '{"loss": "mse", "epochs": 10}',
    '{"loss": 0.5',
    "[1, 2, 3] loss",
    "train_loss_weight=1.5, epoch=3",
    "Loading checkpoint shards: 100%|██████████| 2/2 [00:01<00:00,  1.50it/s]",
    "Map: 100%|██████████| 1000/1000 [00:01<00:00, 900.00 examples/s]",
    "100%|██████████| 45/45 [00:12<00:00,  3.60it/s]",
    "model.bin:  45%|████      | 45M/100M [00:12<00:15, 3.6MB/s]",
    "Accuracy of the network on the 10000 test images: 54 %",
    "step 3 of 10: downloading the dataset (3.6 it/s)",
    "tensor(0.5, grad_fn=<NllLossBackward0>)",
    "a=1, " * 150 + "loss: 0.5",
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


@given(st.text(max_size=60) | st.from_regex(r"(Epoch|[{\[]|step=).{0,20}(Loss|loss|ips|acc).{0,20}"))
def test_any_line_can_be_read(line: str) -> None:
    read_progress(line)


@pytest.mark.parametrize("line", [line for line, _ in LINES])
def test_a_line_of_a_logger_is_read_as_without_it(line: str) -> None:
    """What stands before a line leads past the short way that the commonest lines take."""
    if not line.strip().startswith(("{", "[", "INFO", "2022")):
        assert read_progress(f"[2026-11-22 10:00:00,123] [INFO] - {line.strip()}") == read_progress(line)


@pytest.mark.parametrize("before", ["", "Worker 3: "])
@pytest.mark.parametrize("epoch", ["", "epoch 2, ", "Epoch: [2/9] ", "epoch 2/9 "])
@pytest.mark.parametrize("step", ["", "step 7 ", "Step [7/99], ", "Batch 7/99 ", "step: 7, "])
@pytest.mark.parametrize("loss", ["loss 0.25", "Loss: 3", "loss = nan", "loss: 1e-3"])
def test_the_commonest_lines_are_read_as_the_grammar_reads_them(before: str, epoch: str, step: str, loss: str) -> None:
    line = before + epoch + step + loss
    assert repr(read_progress(line)) == repr(read_progress(line + " ;")), "it ends as no common line does"
