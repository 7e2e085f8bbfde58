"""Which transitions a status write records: a table of statuses before and after."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.gangs import NOW, build_job, observe
from paddock.jobs import causes
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.jobs.plan import plan
from paddock.kube.times import format_time
from paddock.operator.transitions import Finished, Ran, Restarted, Transition, read_begun, read_transitions

RUNNING = Status(Phase.RUNNING, started=NOW)
BEGUN = NOW - 90


def caused(cause: causes.Cause | str) -> CauseRecord:
    return CauseRecord(cause) if isinstance(cause, str) else cause.record(NOW)


@pytest.mark.parametrize(
    ("before", "changes", "wanted"),
    [
        (Status(), {"phase": Phase.PENDING, "cause": caused(causes.WaitingForPods(1, 2))}, ()),
        (Status(Phase.STARTING), {"phase": Phase.RUNNING, "started": NOW}, (Ran(90.0),)),
        (Status(Phase.STARTING), {"phase": Phase.RUNNING, "started": BEGUN - 5}, (Ran(0.0),)),
        (Status(Phase.RUNNING), {"started": NOW}, ()),
        (RUNNING, {"phase": Phase.STARTING}, ()),
        (
            RUNNING,
            {"phase": Phase.RESTARTING, "attempt": 1, "restarts": 1, "cause": caused(causes.RankRestarted(("w",)))},
            (Restarted("RankRestarted", True),),
        ),
        (
            RUNNING,
            {"phase": Phase.RESTARTING, "attempt": 1, "cause": caused(causes.PodsLost(("w",), "NodeLost"))},
            (Restarted("PodsLost", False),),
        ),
        (
            Status(Phase.SUSPENDED),
            {"phase": Phase.RESTARTING, "attempt": 1, "cause": caused(causes.Resumed())},
            (Restarted("Resumed", False),),
        ),
        (Status(), {"phase": Phase.PENDING, "attempt": 3, "cause": caused(causes.PodsAdopted(3))}, ()),
        (RUNNING, {"phase": Phase.SUSPENDED, "started": None, "cause": caused(causes.Suspended())}, ()),
        (
            RUNNING,
            {"phase": Phase.COMPLETED, "finished": NOW + 60, "cause": caused(causes.Completed(2))},
            (Finished(Phase.COMPLETED, "Completed", 60.0),),
        ),
        (
            RUNNING.with_(started=None),
            {"phase": Phase.FAILED, "finished": NOW, "cause": caused(causes.RankFailed(("w",)))},
            (Finished(Phase.FAILED, "RankFailed", None),),
        ),
        (
            Status(Phase.STARTING),
            {"phase": Phase.COMPLETED, "started": NOW - 9, "finished": NOW, "cause": caused(causes.Completed(2))},
            (Ran(81.0), Finished(Phase.COMPLETED, "Completed", 9.0)),
        ),
        (
            RUNNING,
            {"phase": Phase.FAILED, "finished": NOW, "cause": caused("SomebodysOwnWord")},
            (Finished(Phase.FAILED, "Other", 0.0),),
        ),
        (RUNNING, {"phase": Phase.FAILED, "finished": NOW - 5}, (Finished(Phase.FAILED, "Other", 0.0),)),
        (RUNNING.with_(phase=Phase.COMPLETED), {"finished": NOW, "observed_generation": 2}, ()),
        (RUNNING, {"phase": Phase.TERMINATING, "cause": caused(causes.Deleting())}, ()),
    ],
    ids=[
        "a job that waits has no transition",
        "the first time that all ranks run, from the creation on",
        "a clock behind the API server's gives no negative time",
        "a job of another operator, which ran before, has no start to tell",
        "pods that start again are no transition",
        "a failed rank restarts the job and counts",
        "a lost node restarts the job and does not count",
        "a resumed job is a new attempt",
        "an adopted attempt is not a new one",
        "a suspension is not counted",
        "the end, with its reason and the time since the start",
        "the end of a job that never ran has no duration",
        "a job may have run and ended between two passes",
        "an unknown reason has one label",
        "no reason has the same, and no duration is negative",
        "nothing follows the end",
        "the deletion of a job is no end of it",
    ],
)
def test_the_transitions_of_a_write(before: Status, changes: dict[str, Any], wanted: tuple[Transition, ...]) -> None:
    assert read_transitions(before, before.with_(**changes), BEGUN) == wanted


def test_a_start_without_a_known_begin_is_not_counted() -> None:
    assert read_transitions(Status(Phase.STARTING), RUNNING, None) == ()


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda api: api.resource.qualified)
def test_a_resumed_job_begins_when_it_is_resumed(kind: Any) -> None:
    """The status of each kind holds the time, so any process can read it."""
    created = {"creationTimestamp": format_time(NOW)}
    job, manifest = build_job(), {"metadata": created, "status": {}}
    begun = []
    status = Status(Phase.PENDING)
    for suspend, seconds in ((True, 10), (False, 20), (True, 30), (False, 40)):
        now = NOW + seconds
        status = plan(build_job(suspend=suspend), status, observe(job, ()), now).status
        manifest["status"] = write(kind, manifest["status"], status, now)
        begun.append(read_begun(manifest))
    later = status.with_(phase=Phase.PENDING, cause=caused(causes.WaitingForPods(2, 2)))
    manifest["status"] = write(kind, manifest["status"], later, NOW + 50)
    assert [*begun, read_begun(manifest)] == [NOW, NOW + 20, NOW, NOW + 40, NOW + 40]


def write(kind: Any, raw: dict[str, Any], status: Status, now: float) -> dict[str, Any]:
    from paddock.kube.patches import merge_patch

    return dict(merge_patch(raw, kind.write_status(raw, status, now)))


@pytest.mark.parametrize(
    "status",
    [None, 3, {"conditions": 3}, {"conditions": [3, {}, {"type": "Suspended"}]}, {"conditions": [{"status": "False"}]}],
    ids=repr,
)
def test_a_status_that_cannot_be_read_leaves_the_creation(status: Any) -> None:
    created = {"creationTimestamp": format_time(NOW)}
    assert read_begun({"metadata": created, "status": status}) == NOW
    assert read_begun({"metadata": {}, "status": status}) is None
