"""Which of the last numbers of a rank are older than the others."""

from __future__ import annotations

import pytest

from paddock.history.metrics import Metrics, combine, is_place, read_place


@pytest.mark.parametrize(
    ("printed", "written", "found"),
    [
        ({}, {}, {}),
        ({"loss": 0.5}, {}, {"loss": 0.5}),
        ({"step": 100, "loss": 0.5, "loss@step": 100}, {}, {"step": 100, "loss": 0.5}),
        ({"step": 100, "auc": 0.9, "auc@step": 50}, {}, {"step": 100, "auc": 0.9, "auc@step": 50}),
        ({"epoch": 2, "step": 9, "auc": 0.9, "auc@epoch": 2}, {}, {"epoch": 2, "step": 9, "auc": 0.9}),
        ({"epoch": 2, "step": 9, "auc": 0.9, "auc@epoch": 1, "auc@step": 9}, {},
         {"epoch": 2, "step": 9, "auc": 0.9, "auc@epoch": 1, "auc@step": 9}),
        ({"step": 50, "auc": 0.9, "auc@step": 50, "loss": 0.7, "loss@step": 40},
         {"step": 100, "loss": 0.5, "loss@step": 100}, {"step": 100, "auc": 0.9, "auc@step": 50, "loss": 0.5}),
        ({"loss": 0.7, "loss@step": 40}, {"loss": 0.5}, {"loss": 0.5}),
        ({"auc": 0.7, "auc@step": 40}, {}, {"auc": 0.7}),
    ],
)  # fmt: skip
def test_a_number_has_its_place_beside_it_where_it_is_older(printed: Metrics, written: Metrics, found: Metrics) -> None:
    assert combine(printed, written) == found


def test_names_that_programs_print_are_no_places() -> None:
    assert [is_place(each) for each in ("loss@step", "a@b@epoch", "step", "recall@5", "@", "loss_step")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert read_place({"step": 2, "loss": 1.0}, "loss") == {}
