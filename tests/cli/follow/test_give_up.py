"""When `run` gives up: after three failures alike that got no further, in a job without a limit of its own."""

from __future__ import annotations

import pytest

from cli.views import build_job, build_restart, build_view
from paddock.cli.follow.give_up import RepeatedFailures
from paddock.jobs.model import Phase
from paddock.views.followed import FollowedJob


def view(number: int, code: int = 4, step: int = 0, **more: object) -> FollowedJob:
    line = f"epoch 1  step {step}/400  loss 0.5" if step else ""
    return build_view(phase=Phase.RESTARTING, cause=build_restart(number, code), line=line, **more)


LIMITED = build_job(runPolicy={"backoffLimit": 9})


@pytest.mark.parametrize(
    ("views", "limits"),
    [
        ([view(1), view(2)], [None, 2]),
        ([view(1), view(1), view(1)], [None, None, None]),  # one failure, seen often
        ([view(1, code=4), view(2, code=5), view(3, code=5)], [None, None, 3]),
        ([view(1, step=100), view(2, step=200), view(3, step=300)], [None, None, None]),  # resumes, gets on
        ([view(1, step=100), view(2, step=100)], [None, 2]),
        ([view(1), build_view(), view(2)], [None, None, 2]),
        ([view(1), view(2), view(3)], [None, 2, None]),  # said once
        ([view(1, job=LIMITED), view(2, job=LIMITED), view(3, job=LIMITED)], [None, None, None]),
    ],
)
def test_the_second_failure_alike_sets_the_limit(views: list[FollowedJob], limits: list[int | None]) -> None:
    failures = RepeatedFailures()
    assert [failures.add(each) for each in views] == limits
