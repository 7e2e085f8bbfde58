"""Which jobs a list shows, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import Counts, JobProgress, Phase
from paddock.views.jobs import LONGEST_DESCRIPTION, JobRow, read_job_row, tell_ready
from paddock.views.listing import (
    COLUMNS,
    FRESH_SECONDS,
    SORTS,
    Filter,
    Listed,
    Order,
    choose_part,
    count_phases,
    count_trouble,
    cut_part,
    order_jobs,
    read_columns,
    read_order,
    sort_jobs,
)
from support.written import build_written_job


def row(
    name: str,
    phase: Phase,
    *,
    created: float = 1.0,
    namespace: str = "default",
    torch: bool = False,
    percent: int | None = None,
    **known: Any,
) -> Listed:
    resource = (KUBEFLOW_PYTORCH if torch else PADDLEPADDLE).resource
    progress = None if percent is None else JobProgress(percent, None, {"loss": percent / 100})
    searched = f"{namespace}/{name}".lower()
    return resource, JobRow(
        namespace, name, phase, "", {}, created, None, progress=progress, searched=searched, **known
    )


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


def test_a_failure_of_the_day_before_yesterday_is_no_trouble_any_more() -> None:
    now = 10 * FRESH_SECONDS
    found = [
        row("done", Phase.COMPLETED, created=2.0),
        row("old", Phase.FAILED, created=3.0, finished=now - FRESH_SECONDS - 1),
        row("fresh", Phase.FAILED, finished=now - FRESH_SECONDS + 1),
        row("unknown", Phase.FAILED),
        row("runs", Phase.RUNNING),
    ]
    assert names(order_jobs(found, now)) == "fresh unknown runs old done"
    assert count_trouble(found, now) == (2, 1)


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        ("name", "a B c"),  # as a reader of the alphabet has it
        ("-name", "c B a"),
        ("created", "c a B"),
        ("-created", "B a c"),
        ("state", "B c a"),
        ("duration", "a c B"),  # B has not begun
        ("-duration", "c a B"),
        ("progress", "c a B"),
        ("-progress", "a c B"),
        ("loss", "a c B"),  # the logs know better than the status
        ("-loss", "c a B"),
        ("owner", "c a B"),
        ("-owner", "a c B"),
    ],
)
def test_each_column_sorts_both_ways_and_jobs_without_a_value_come_last(order: str, shown: str) -> None:
    found = [
        row("a", Phase.COMPLETED, created=2.0, uid="a", percent=90, started=10.0, finished=20.0, owner="zoe"),
        row("B", Phase.PENDING, created=3.0, uid="b"),
        row("c", Phase.RUNNING, created=1.0, uid="c", percent=40, started=10.0, owner="Ann"),
    ]
    assert names(sort_jobs(found, read_order(order), 100.0, {"a": 0.1})) == shown


@given(st.text(max_size=20) | st.sampled_from([*SORTS, *(f"-{each}" for each in SORTS), "--name", "-", "sort", "NAME"]))
def test_whatever_an_address_asks_for_is_an_order_that_says_the_same_again(text: str) -> None:
    order = read_order(text)
    assert str(order) in ("", text)
    assert read_order(str(order)) == order
    assert len(sort_jobs(ROWS, order, 0.0)) == len(ROWS)


def test_a_second_click_on_a_head_turns_the_order_round() -> None:
    assert str(Order().turn("name")) == "name" and str(Order("name").turn("name")) == "-name"
    assert str(Order().turn("created")) == "-created", "the newest first"
    assert str(Order("name", falling=True).turn("loss")) == "loss"


@given(st.sets(st.sampled_from(COLUMNS)))
def test_columns_stand_in_the_address_and_none_is_a_choice_too(chosen: set[str]) -> None:
    columns = tuple(each for each in COLUMNS if each in chosen)
    assert read_columns(",".join(("name", *columns))) == columns
    assert read_columns("name,<script>,,ready") == ("ready",)


@pytest.mark.parametrize("text", ["DEMO", "nightly", "team=ads", "ann", "default/demo"])
def test_a_job_is_found_by_its_name_description_labels_and_owner(text: str) -> None:
    job = build_written_job()
    job["metadata"]["labels"] = {"team": "ads"}
    job["metadata"]["annotations"] = {"kubernetes.io/description": "The nightly <b>run</b>", "paddock.dev/owner": "Ann"}
    resource = PADDLEPADDLE.resource
    assert Filter(text=text).matches((resource, read_job_row(resource, job)))
    assert not Filter(text=text + "!").matches((resource, read_job_row(resource, job)))


def test_a_description_of_a_book_costs_a_list_no_more_than_its_beginning() -> None:
    job = build_written_job()
    job["metadata"]["annotations"] = {"kubernetes.io/description": "x" * 200_000}
    found = read_job_row(PADDLEPADDLE.resource, job)
    assert len(found.description) == LONGEST_DESCRIPTION and len(found.searched) < 2 * LONGEST_DESCRIPTION


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
