"""Which line was nearest to a metric, and what stood in the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.nearest_line import SHOWN, explain_nearest, find_nearest
from paddock.logs.printed_lines import LONGEST_LINE, read_progress
from paddock.words.phrases import render

REASONS = [
    ("step 3 loss: unknown", "no number stands after `loss`"),
    ("the loss of step 3 was 0.5", "no number stands after `loss`"),
    ("Loss: 3", "it says neither epoch nor step"),
    ("Test accuracy: 0.93", "it says neither epoch nor step"),
    ("The new loss: 0.5 at epoch 3 was the lowest", "it reads as a sentence"),
    ('{"epoch": 3, "loss": 0.5', "it begins with a brace and ends without one"),
    ("http://host/run epoch 3 loss: 0.5", "an address (`://`) stands in it"),
    ("epoch 3 loss: 0.5 " + "x" * LONGEST_LINE, "it has more than 2000 characters"),
    ("第 3 轮 损失: 无", "no number stands after `损失`"),
    ("准确率：0.93", "it says neither epoch nor step"),
    ("epoch 3 best loss: 0.5", "`best loss` is no name of a metric that is known"),
]


@pytest.mark.parametrize(("line", "why"), REASONS)
def test_what_stood_in_the_way_is_told(line: str, why: str) -> None:
    found = find_nearest(["begin", line, "end"])
    assert found is not None and render(found.why) == why
    assert len(found.line) <= SHOWN


def test_the_nearest_line_counts_and_of_several_the_last() -> None:
    lines = ["Loss function: mse", "Loss: 2", "loss of connection", "Loss: 3", "accepted"]
    found = find_nearest(lines)
    assert found is not None and found.line == "Loss: 3"


def test_a_log_without_any_word_of_a_metric_has_none() -> None:
    assert find_nearest(["hello", "accepted", "it costs nothing"]) is None
    assert render(explain_nearest(None)).startswith("no metric was read: no line has a loss")


def test_a_line_that_is_read_is_not_near() -> None:
    assert find_nearest(["epoch 3, loss 0.25"]) is None


def test_the_sentence_has_the_line_without_colours_and_a_form_that_is_read() -> None:
    said = render(explain_nearest(find_nearest(["\x1b[31mloss\x1b[0m: n/a\x07 now"])))
    assert said == (
        "no metric was read; the nearest line: `loss: n/a now`; no number stands after `loss`; print for example "
        "`epoch 3, loss 0.25`"
    )
    assert read_progress(said.rpartition("`")[0].rpartition("`")[2]) is not None


@given(st.text(max_size=300), st.sampled_from(["loss", "acc", "loss: ", "loss(", "auc 0.5 "]))
def test_any_line_can_be_judged(line: str, word: str) -> None:
    find_nearest([word + line, line + word])
