"""What `paddock run` prints of a dataset that the job waits for: each tenth once, where no live line shows it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from paddock.cli.follow.datasets import DatasetWaits, is_final
from paddock.cli.output.screen import Screen
from paddock.jobs.model import CauseRecord


def show(*causes: CauseRecord | None) -> list[str]:
    err = io.StringIO()
    waits = DatasetWaits(Screen(Console(file=io.StringIO()), Console(file=err, width=200)))
    for cause in causes:
        waits.show(cause)
    return err.getvalue().splitlines()


def waiting(percent: int, dataset: str = "imagenet", **args: Any) -> CauseRecord:
    return CauseRecord("WaitingForDataset", {"dataset": dataset, "percent": percent, **args})


def test_a_line_for_each_tenth_of_the_way_of_each_dataset() -> None:
    way = [waiting(percent, total=100, done=percent) for percent in (0, 1, 9, 10, 19, 41)]
    assert show(*way, waiting(3, "words"), *way, None, CauseRecord("PodsStarting", {})) == [
        "waiting for dataset imagenet: 0 %, 0 of 100 B",
        "waiting for dataset imagenet: 10 %, 10 of 100 B",
        "waiting for dataset imagenet: 41 %, 41 of 100 B",
        "waiting for dataset words: 3 %",
    ]


@pytest.mark.parametrize(
    ("cause", "final"),
    [
        (None, False),
        (waiting(3), False),
        (CauseRecord("DatasetFailed", {"dataset": "x", "retries": True}), False),
        (CauseRecord("DatasetFailed", {"dataset": "x"}), True),
        (CauseRecord("DatasetMissing", {"dataset": "x"}), False),
    ],
)
def test_a_wait_ends_where_nothing_fetches_the_dataset_again(cause: CauseRecord | None, final: bool) -> None:
    assert is_final(cause) == final
