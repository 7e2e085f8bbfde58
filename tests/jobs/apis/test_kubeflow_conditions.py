"""Conditions as Kubeflow's own tests have them: which, in which order, with which reasons."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.apis.kubeflow_conditions import build_conditions, read_conditions, read_phase
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import Manifest

WAITING = CauseRecord("WaitingForPods", {"missing": 2, "wanted": 2}, 0.0)
RESUMED = CauseRecord("Resumed", {}, 0.0)
RESTARTED = CauseRecord("RankRestarted", {"ranks": ["worker-1"], "code": 1, "restart": 1, "delay": 10}, 0.0)
COMPLETED = CauseRecord("Completed", {"succeeded": 2}, 0.0)
FAILED = CauseRecord("RankFailed", {"ranks": ["worker-0"], "code": 1}, 0.0)
SUSPENDED = CauseRecord("Suspended", {}, 0.0)

Step = tuple[Phase, CauseRecord | None]
PENDING, STARTING, RUNNING = (Phase.PENDING, WAITING), (Phase.STARTING, None), (Phase.RUNNING, None)


def walk(*steps: Step, previous: list[Manifest] | None = None) -> list[Manifest]:
    """The conditions after these statuses, one each ten seconds."""
    conditions: list[Manifest] = previous or []
    for number, (phase, cause) in enumerate(steps, 1):
        status = Status(phase, cause=cause)
        conditions = build_conditions(read_conditions(conditions), status, 10.0 * number, "PaddleJob")
    return conditions


def shown(*steps: Step) -> list[str]:
    return [f"{each['type']} {each['status'][0]} {each['reason'].removeprefix('PaddleJob')}" for each in walk(*steps)]


def test_a_job_that_runs_through() -> None:
    assert shown(PENDING) == ["Created T Created"]
    assert shown(PENDING, STARTING, RUNNING) == ["Created T Created", "Running T Running"]
    assert shown(PENDING, RUNNING, (Phase.COMPLETED, COMPLETED)) == [
        "Created T Created",
        "Running F Running",
        "Succeeded T Succeeded",
    ]


def test_a_job_that_is_suspended_while_it_runs_and_goes_on() -> None:
    suspended = (PENDING, RUNNING, (Phase.SUSPENDED, SUSPENDED))
    assert shown(*suspended) == ["Created T Created", "Running F Suspended", "Suspended T Suspended"]
    resumed: tuple[Step, ...] = (*suspended, (Phase.RESTARTING, RESUMED), PENDING)
    assert shown(*resumed) == ["Created T Created", "Running F Suspended", "Suspended F Resumed"]
    assert shown(*resumed, RUNNING) == ["Created T Created", "Suspended F Resumed", "Running T Running"]


def test_a_job_that_is_made_suspended() -> None:
    assert shown((Phase.SUSPENDED, SUSPENDED)) == ["Created T Created", "Suspended T Suspended"]


def test_running_and_restarting_exclude_each_other() -> None:
    restarting: tuple[Step, ...] = (PENDING, RUNNING, (Phase.RESTARTING, RESTARTED))
    assert shown(*restarting) == ["Created T Created", "Restarting T Restarting"]
    assert shown(*restarting, PENDING, STARTING) == ["Created T Created", "Restarting T Restarting"]
    assert shown(*restarting, PENDING, RUNNING) == ["Created T Created", "Running T Running"]


def test_a_finished_job_is_not_restarting_any_more() -> None:
    steps: tuple[Step, ...] = (PENDING, (Phase.RESTARTING, RESTARTED), (Phase.FAILED, FAILED))
    assert shown(*steps) == ["Created T Created", "Restarting F Restarting", "Failed T Failed"]


def test_the_last_condition_says_the_causes_sentence_and_a_new_one_leaves_its_place() -> None:
    first, second = walk(PENDING), walk(PENDING, (Phase.PENDING, CauseRecord("WaitingForAddresses", {"missing": 1})))
    assert first[0]["message"] == "waiting for 2 of 2 pods to be created"
    assert second[0]["message"] != first[0]["message"]
    assert (second[0]["lastUpdateTime"], second[0]["lastTransitionTime"]) == (
        "1970-01-01T00:00:20Z",
        "1970-01-01T00:00:10Z",
    )
    assert walk(PENDING, RUNNING)[0]["message"] == "the job is created"
    assert walk(PENDING, RUNNING, (Phase.FAILED, FAILED))[-1]["message"].startswith("failed: worker-0 ended with")


def test_a_manifest_that_cannot_be_read_from_the_first_has_a_condition_that_says_so() -> None:
    cause = CauseRecord("InvalidJob", {"problems": ["spec.paddleReplicaSpecs: is missing"]})
    assert "spec.paddleReplicaSpecs: is missing" in walk((Phase.NONE, cause))[0]["message"]
    assert walk((Phase.NONE, None)) == []
    invalid = walk((Phase.INVALID, cause))
    assert [each["type"] for each in invalid] == ["Created", "Invalid"], "the last one is printed as the state"
    assert "spec.paddleReplicaSpecs: is missing" in invalid[-1]["message"]
    assert invalid[-1]["reason"] == "PaddleJobInvalid"
    assert shown((Phase.INVALID, cause), PENDING, RUNNING) == shown(PENDING, RUNNING), "an edit ends it"


def test_conditions_of_other_types_stay() -> None:
    theirs = {"type": "QuotaReserved", "status": "True", "any": "thing"}
    assert theirs in walk(PENDING, RUNNING, (Phase.SUSPENDED, SUSPENDED), previous=[theirs])
    done = [{"type": "Succeeded", "status": "True", "reason": "PaddleJobSucceeded", "message": "theirs"}]
    assert done[0] in walk((Phase.COMPLETED, None), previous=done)


def test_a_job_that_is_being_deleted_keeps_its_conditions() -> None:
    running = walk(PENDING, RUNNING)
    assert walk((Phase.TERMINATING, CauseRecord("Deleting")), previous=running) == running


CAUSES = st.sampled_from([None, WAITING, RESUMED, RESTARTED, COMPLETED, FAILED, SUSPENDED])
STEPS = st.lists(st.tuples(st.sampled_from(Phase), CAUSES), min_size=1, max_size=8)


@given(STEPS)
def test_on_any_way_each_type_is_there_once_and_a_second_look_changes_nothing(steps: list[Step]) -> None:
    conditions = walk(*steps)
    types = [each["type"] for each in conditions]
    assert len(types) == len(set(types))
    assert not {"Running", "Restarting"} <= {each["type"] for each in conditions if each["status"] == "True"}
    last = Status(steps[-1][0], cause=steps[-1][1])
    assert build_conditions(read_conditions(conditions), last, 999.0, "PaddleJob") == conditions


WAYS: list[tuple[list[tuple[str, str]], Phase]] = [
    ([], Phase.NONE),
    ([("Created", "True")], Phase.PENDING),
    ([("Created", "True"), ("Running", "True")], Phase.RUNNING),
    ([("Created", "True"), ("Restarting", "True")], Phase.RESTARTING),
    ([("Created", "True"), ("Running", "False"), ("Suspended", "True")], Phase.SUSPENDED),
    ([("Created", "True"), ("Suspended", "False"), ("Running", "True")], Phase.RUNNING),
    ([("Created", "True"), ("Restarting", "True"), ("Succeeded", "True")], Phase.COMPLETED),
    ([("Created", "True"), ("Running", "False"), ("Failed", "True")], Phase.FAILED),
]


def test_the_phase_of_a_job_of_kubeflows_operator_is_read_from_its_conditions() -> None:
    for way, phase in WAYS:
        conditions: list[Any] = [{"type": type_, "status": status} for type_, status in way]
        assert read_phase(read_conditions([*conditions, None, "x", {"type": 1}])) is phase
