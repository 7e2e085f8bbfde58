"""Which jobs a list shows, and in which order."""

from __future__ import annotations

import pytest

from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import Counts, Phase
from paddock.views.jobs import JobRow, tell_ready
from paddock.views.listing import (
    Filter,
    Listed,
    choose_part,
    count_phases,
    cut_part,
    order_jobs,
)


def row(name: str, phase: Phase, *, created: float = 1.0, namespace: str = "default", torch: bool = False) -> Listed:
    resource = (KUBEFLOW_PYTORCH if torch else PADDLEPADDLE).resource
    return resource, JobRow(namespace, name, phase, "", {}, created, None)


ROWS = [
    row("done", Phase.COMPLETED),
    row("old", Phase.RUNNING, created=1.0),
    row("new", Phase.RUNNING, created=2.0, namespace="team"),
    row("Bad", Phase.FAILED, torch=True),
    row("waits", Phase.PENDING),
    row("again", Phase.RESTARTING),
]


def names(found: list[Listed]) -> str:
    return " ".join(each.name for _, each in found)


def test_trouble_comes_first_and_then_the_newest() -> None:
    assert names(order_jobs(ROWS)) == "Bad again waits new old done"


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (Filter(), "done old new Bad waits again"),
        (Filter(phase="Running"), "old new"),
        (Filter(phase="Nonsense"), ""),
        (Filter(kind="PyTorchJob"), "Bad"),
        (Filter(namespace="team"), "new"),
        (Filter(text="TEAM/n"), "new"),
        (Filter(text="bad"), "Bad"),
        (Filter(phase="Running", text="o"), "old"),
    ],
)
def test_every_part_of_a_filter_must_fit(wanted: Filter, shown: str) -> None:
    assert names([each for each in ROWS if wanted.matches(each)]) == shown


def test_counts_are_of_every_phase_whatever_phase_is_chosen() -> None:
    wanted = Filter(phase="Running", namespace="default")
    fitting = [each for each in ROWS if wanted.matches(each, any_phase=True)]
    assert count_phases(fitting) == [
        ("Failed", 1), ("Restarting", 1), ("Pending", 1), ("Running", 1), ("Completed", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "total", "page", "pages", "begin", "end"),
    [
        ("", 0, 1, 1, 0, 0),
        ("", 100, 1, 1, 0, 100),
        ("2", 101, 2, 2, 100, 101),
        ("9", 101, 2, 2, 100, 101),
        ("0", 300, 1, 3, 0, 100),
        ("-1", 300, 1, 3, 0, 100),
        ("x", 300, 1, 3, 0, 100),
        ("9" * 5000, 300, 1, 3, 0, 100),
    ],
)
def test_a_page_that_does_not_exist_is_the_nearest_one(
    asked: str, total: int, page: int, pages: int, begin: int, end: int
) -> None:
    part = choose_part(asked, total)
    assert (part.page, part.pages, part.begin, part.end) == (page, pages, begin, end)
    assert list(cut_part(range(total), part)) == list(range(begin, end))


def test_ready_of_a_completed_job_are_those_that_succeeded() -> None:
    counts = Counts(wanted=3, running=1, succeeded=2)
    assert tell_ready(counts, Phase.RUNNING) == "1/3"
    assert tell_ready(counts, Phase.COMPLETED) == "2/3"
    assert tell_ready(Counts(wanted=1, running=1), Phase.COMPLETED) == "1/1"  # a server that still runs
