"""Which numbers of ranks are told of a run: all of a job that may train smaller, else those that an edit made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.app.history import list_sizes
from paddock.history.records import Attempt, Cause, Renewal, RunRecord, Size

BOTH = ((10.0, 2), (20.0, 1))


def build(sizes: list[Size], spec: dict[str, Any] | None = None, **more: Any) -> RunRecord:
    container = {"name": "paddle", "image": "python:3", "command": ["python", "train.py"]}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    return RunRecord(
        "batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "u", 1, 0.0,
        spec=spec or {"worker": worker}, sizes=tuple(sizes), **more,
    )  # fmt: skip


FAILED = build([Size(0, 10.0, 2), Size(0, 20.0, 1)])


def test_ranks_that_begin_and_end_one_after_another_are_no_other_size() -> None:
    assert list_sizes(FAILED) == ((10.0, 2),)
    late = build([Size(0, 10.0, 1), Size(0, 20.0, 2), Size(0, 30.0, 1), Size(1, 40.0, 1)])
    assert list_sizes(late) == ((20.0, 2),)
    assert list_sizes(build([])) == ()


@pytest.mark.parametrize(
    "more",
    [
        {"annotations": {"paddock.dev/elastic": "1-2"}},
        {"annotations": {"paddock.dev/restart-scope": "Pod"}},
        {"renewals": (Renewal(0, 20.0, ("worker-1",)),)},
        {"spec": {"worker": "of another version"}},
    ],
)
def test_of_a_job_that_may_train_smaller_all_are_told(more: dict[str, Any]) -> None:
    assert list_sizes(replace(FAILED, **more)) == BOTH


def test_what_an_edit_made_is_told_once_with_its_whole_size() -> None:
    attempts = (Attempt(0, 0.0), Attempt(1, 25.0, Cause("RankRestarted")), Attempt(2, 40.0, Cause("Resized")))
    sizes = [Size(0, 10.0, 2), Size(1, 30.0, 1), Size(2, 50.0, 1), Size(2, 55.0, 3), Size(2, 60.0, 2)]
    assert list_sizes(build(sizes, attempts=attempts)) == ((10.0, 2), (55.0, 3))
