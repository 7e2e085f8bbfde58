"""Conditions of batch/v1, as `kubectl wait` and `kubectl describe` read them."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.gangs import cause
from paddock.jobs.apis.paddlepaddle_status import build_conditions
from paddock.jobs.model import Phase, Status
from paddock.kube.meta import Manifest

WAITING = Status(phase=Phase.PENDING, cause=cause("WaitingForPods", missing=1, wanted=2))
RUNS = Status(phase=Phase.RUNNING)
AGAIN = Status(phase=Phase.RESTARTING, attempt=1, cause=cause("PodsDeleted", ranks=["worker-0"]))
STOPPED = Status(phase=Phase.SUSPENDED, cause=cause("Suspended"))
DONE = Status(phase=Phase.COMPLETED, cause=cause("Completed", succeeded=2))
BROKEN = Status(phase=Phase.FAILED, cause=cause("RankFailed", ranks=["worker-0"], code=1))


def live(*statuses: Status) -> list[Manifest]:
    """The list after these were recorded, one each second."""
    conditions: list[Manifest] = []
    for second, status in enumerate(statuses):
        conditions = build_conditions(conditions, status, float(second))
    return conditions


def told(conditions: list[Manifest]) -> dict[str, str]:
    return {each["type"]: f"{each['status']} {each['reason']}" for each in conditions}


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], {}),
        ([Status()], {}),
        ([WAITING], {"Running": "False WaitingForPods"}),
        ([WAITING, RUNS], {"Running": "True Running"}),
        ([RUNS, AGAIN], {"Running": "False PodsDeleted", "Restarting": "True PodsDeleted"}),
        ([RUNS, AGAIN, RUNS], {"Running": "True Running", "Restarting": "False PodsDeleted"}),
        ([STOPPED], {"Running": "False Suspended", "Suspended": "True Suspended"}),
        ([STOPPED, WAITING], {"Running": "False WaitingForPods", "Suspended": "False Resumed"}),
        ([RUNS, DONE], {"Running": "False Completed", "Succeeded": "True Completed"}),
        ([RUNS, BROKEN], {"Running": "False RankFailed", "Failed": "True RankFailed"}),
    ],
)
def test_they_say_how_the_job_stands_and_why(statuses: list[Status], expected: dict[str, str]) -> None:
    assert told(live(*statuses)) == expected


def test_the_message_is_the_sentence_of_the_cause() -> None:
    assert [each["message"] for each in live(WAITING)] == ["waiting for 1 of 2 pods to be created"]


def test_a_moment_is_that_of_the_last_change_of_the_status_and_of_no_other() -> None:
    first = live(WAITING, Status(phase=Phase.STARTING, cause=cause("PodsStarting", starting=1, wanted=2)), RUNS)
    assert [each["lastTransitionTime"] for each in first] == ["1970-01-01T00:00:02Z"]
    waited = live(WAITING, Status(phase=Phase.STARTING, cause=cause("PodsStarting", starting=1, wanted=2)))
    assert [(each["reason"], each["lastTransitionTime"]) for each in waited] == [
        ("PodsStarting", "1970-01-01T00:00:00Z")
    ]
    assert build_conditions(first, RUNS, 99.0) == first, "nothing new, no write"


@pytest.mark.parametrize("junk", [None, "text", [1, {"type": 3}], {}])
def test_what_is_no_condition_is_dropped_and_what_others_wrote_stays(junk: Any) -> None:
    assert told(build_conditions(junk, RUNS, 0.0)) == {"Running": "True Running"}
    theirs = {"type": "Theirs", "status": "True"}
    assert build_conditions([theirs], RUNS, 0.0)[0] == theirs
    assert build_conditions([theirs], Status(phase=Phase.TERMINATING), 0.0) == [theirs]


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase not in (Phase.NONE, Phase.TERMINATING)])
def test_no_reason_and_no_message_is_empty_also_where_no_cause_is_recorded(phase: Phase) -> None:
    """A status of paddle-operator has none, and Kubernetes 1.20 refuses an empty message."""
    bare = [{"type": type_, "status": "True"} for type_ in ("Running", "Restarting", "Suspended")]
    for each in build_conditions(bare, Status(phase=phase), 0.0):
        assert each["reason"]
        assert each["message"]
