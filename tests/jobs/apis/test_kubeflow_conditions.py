"""Conditions as Kubeflow's own tests have them: which, in which order, with which reasons."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.apis.kubeflow_conditions import build_conditions, read_conditions, read_phase
from paddock.jobs.apis.kubeflow_sentences import Subject
from paddock.jobs.causes import CAUSES
from paddock.jobs.model import CauseRecord, Counts, Phase, Status
from paddock.kube.meta import Manifest

WAITING = CauseRecord("WaitingForPods", {"missing": 2, "wanted": 2}, 0.0)
RESUMED = CauseRecord("Resumed", {}, 0.0)
RESTARTED = CauseRecord("RankRestarted", {"ranks": ["worker-1"], "code": 1, "restart": 1, "delay": 10}, 0.0)
COMPLETED = CauseRecord("Completed", {"succeeded": 2}, 0.0)
FAILED = CauseRecord("RankFailed", {"ranks": ["worker-0"], "code": 1}, 0.0)
SUSPENDED = CauseRecord("Suspended", {}, 0.0)
OLD_PODS = CauseRecord("WaitingForOldPods", {"count": 1}, 0.0)

TYPES = {"master": "Master", "worker": "Worker"}
JOB = Subject("PyTorchJob", "demo", "team", TYPES, has_master=True)
WORKERS = Subject("PaddleJob", "demo", "team", TYPES)
BY_EXIT_CODE = Subject("PyTorchJob", "demo", "team", TYPES, has_master=True, by_exit_code=frozenset({"worker"}))

Step = tuple[Phase, CauseRecord | None]
PENDING, STARTING, RUNNING = (Phase.PENDING, WAITING), (Phase.STARTING, None), (Phase.RUNNING, None)
SUSPEND, RESUME = (Phase.SUSPENDED, SUSPENDED), (Phase.RESTARTING, RESUMED)


def walk(*steps: Step, previous: list[Manifest] | None = None, job: Subject = JOB) -> list[Manifest]:
    """The conditions after these statuses, one each ten seconds."""
    conditions: list[Manifest] = previous or []
    for number, (phase, cause) in enumerate(steps, 1):
        status = Status(phase, cause=cause)
        conditions = build_conditions(read_conditions(conditions), status, 10.0 * number, job)
    return conditions


def shown(*steps: Step) -> list[str]:
    return [f"{each['type']} {each['status'][0]} {each['reason'].removeprefix('PyTorchJob')}" for each in walk(*steps)]


CREATED = "Created T Created"
SEQUENCES: list[tuple[str, list[Step], list[str]]] = [
    ("run", [PENDING, STARTING, RUNNING], [CREATED, "Running T Running"]),
    (
        "succeed",
        [PENDING, RUNNING, (Phase.COMPLETED, COMPLETED)],
        [CREATED, "Running F Running", "Succeeded T Succeeded"],
    ),
    (
        "suspend while running",
        [PENDING, RUNNING, SUSPEND],
        [CREATED, "Running F Suspended", "Suspended T Suspended"],
    ),
    (
        "resume",
        [PENDING, RUNNING, SUSPEND, RESUME, (Phase.RESTARTING, OLD_PODS), PENDING, RUNNING],
        [CREATED, "Suspended F Resumed", "Running T Running"],
    ),
    ("created suspended", [SUSPEND], [CREATED, "Suspended T Suspended"]),
    (
        "created suspended, then run",
        [SUSPEND, RESUME, PENDING, RUNNING],
        [CREATED, "Suspended F Resumed", "Running T Running"],
    ),
    ("never", [PENDING, RUNNING, (Phase.FAILED, FAILED)], [CREATED, "Running F Running", "Failed T Failed"]),
    (
        "restart",
        [PENDING, RUNNING, (Phase.RESTARTING, RESTARTED), PENDING, STARTING],
        [CREATED, "Restarting T Restarting"],
    ),
    (
        "restart and run",
        [PENDING, RUNNING, (Phase.RESTARTING, RESTARTED), PENDING, RUNNING],
        [CREATED, "Running T Running"],
    ),
    (
        "a finished job is not restarting any more",
        [PENDING, (Phase.RESTARTING, RESTARTED), (Phase.COMPLETED, COMPLETED)],
        [CREATED, "Restarting F Restarting", "Succeeded T Succeeded"],
    ),
    (
        "a rank that starts anew: not all ranks run, so the job is not Running",
        [PENDING, RUNNING, STARTING],
        ["Running F Running", CREATED],
    ),
    (
        "a rank that starts anew and runs",
        [PENDING, RUNNING, STARTING, RUNNING],
        [CREATED, "Running T Running"],
    ),
    (
        "what has failed never changes any more",
        [PENDING, (Phase.FAILED, FAILED), (Phase.COMPLETED, COMPLETED)],
        [CREATED, "Failed T Failed"],
    ),
]


@pytest.mark.parametrize(("steps", "conditions"), [row[1:] for row in SEQUENCES], ids=[row[0] for row in SEQUENCES])
def test_the_conditions_after(steps: list[Step], conditions: list[str]) -> None:
    assert shown(*steps) == conditions


@pytest.mark.parametrize("waiting", [[], [(Phase.RESTARTING, OLD_PODS)], [PENDING], [PENDING, STARTING]])
def test_kubectl_does_not_print_suspended_of_a_job_that_was_resumed(waiting: list[Step]) -> None:
    assert shown(PENDING, RUNNING, SUSPEND, RESUME, *waiting) == [
        "Running F Suspended",
        "Suspended F Resumed",
        CREATED,
    ]


GONE = CauseRecord("PodsDeleted", {"ranks": ["worker-0", "worker-1", "master-0"]})
LOST = CauseRecord("PodsLost", {"ranks": ["master-0"], "why": "NodeLost"})
RESIZED = CauseRecord("Resized", {"wanted": 3})
LIMIT = CauseRecord("BackoffLimitExceeded", {"ranks": ["worker-0"], "code": 1, "limit": 3})
LATE = CauseRecord("DeadlineExceeded", {"seconds": 5})
OFTEN = CauseRecord("LostTooOften", {"limit": 100, "last": "PodsDeleted", "ranks": ["worker-0"]})

MESSAGES: list[tuple[Subject, list[Step], str]] = [
    (JOB, [PENDING], "PyTorchJob demo is created."),
    (JOB, [RUNNING], "PyTorchJob demo is running."),
    (WORKERS, [RUNNING], "PaddleJob team/demo is running."),
    (JOB, [(Phase.COMPLETED, COMPLETED)], "PyTorchJob demo is successfully completed."),
    (WORKERS, [(Phase.COMPLETED, COMPLETED)], "PaddleJob team/demo successfully completed."),
    (JOB, [SUSPEND], "PyTorchJob demo is suspended."),
    (JOB, [SUSPEND, RESUME], "PyTorchJob demo is created."),
    (WORKERS, [SUSPEND, RESUME], "PaddleJob demo is created."),
    (JOB, [(Phase.RESTARTING, RESTARTED)], "job demo is restarting because Worker replica(s) failed."),
    (JOB, [(Phase.RESTARTING, LOST)], "job demo is restarting because Master replica(s) failed."),
    (JOB, [(Phase.RESTARTING, GONE)], "PyTorchJob demo is restarting because 2 Worker replica(s) failed."),
    (
        JOB,
        [(Phase.RESTARTING, RESTARTED), (Phase.RESTARTING, GONE)],
        "job demo is restarting because Worker replica(s) failed.",
    ),
    (
        JOB,
        [(Phase.RESTARTING, RESIZED)],
        "PyTorchJob demo is restarting: starting all ranks again: the job was resized to 3 pods.",
    ),
    (JOB, [(Phase.RESTARTING, None)], "PyTorchJob demo is restarting."),
    (JOB, [(Phase.FAILED, FAILED)], "PyTorchJob demo is failed because 1 Worker replica(s) failed."),
    (BY_EXIT_CODE, [(Phase.FAILED, FAILED)], 'job "demo" is failing because "Worker" replica(s) failed.'),
    (JOB, [(Phase.FAILED, LIMIT)], "Job demo has failed because it has reached the specified backoff limit"),
    (JOB, [(Phase.FAILED, LATE)], "Job demo has failed because it was active longer than specified deadline"),
    (JOB, [(Phase.FAILED, None)], "PyTorchJob demo is failed."),
]


@pytest.mark.parametrize(("job", "steps", "message"), MESSAGES)
def test_the_last_condition_says_what_v1_9_4_says(job: Subject, steps: list[Step], message: str) -> None:
    assert walk(*steps, job=job)[-1]["message"] == message


def test_the_other_messages_of_a_suspension_and_of_its_end() -> None:
    running, suspended = walk(PENDING, RUNNING, SUSPEND)[-2:]
    assert running["message"] == suspended["message"] == "PyTorchJob demo is suspended."
    found = {each["type"]: each["message"] for each in walk(PENDING, RUNNING, SUSPEND, RESUME, PENDING, RUNNING)}
    assert found["Suspended"] == "PyTorchJob demo is resumed."


def test_what_v1_9_has_no_sentence_for_is_said_in_paddocks_words() -> None:
    message = walk((Phase.FAILED, OFTEN))[-1]["message"]
    assert message.startswith("PyTorchJob demo is failed: ") and "100" in message


def test_the_number_of_failed_replicas_is_that_of_the_counts() -> None:
    status = Status(Phase.FAILED, roles={"worker": Counts(3, failed=2)}, cause=FAILED)
    message = build_conditions((), status, 0.0, JOB)[-1]["message"]
    assert message == "PyTorchJob demo is failed because 2 Worker replica(s) failed."


@pytest.mark.parametrize("reason", [*CAUSES, "OfAnotherVersion"])
@pytest.mark.parametrize("args", [{}, {"ranks": 3}, {"ranks": []}, {"ranks": [None, "worker-0"]}, {"ranks": ["x"]}])
def test_any_recorded_cause_has_a_message(reason: str, args: dict[str, Any]) -> None:
    for phase in (Phase.RESTARTING, Phase.FAILED):
        assert all(each["message"] for each in walk((phase, CauseRecord(reason, args))))


def test_another_cause_of_the_same_condition_changes_nothing() -> None:
    waits = (Phase.PENDING, CauseRecord("WaitingForAddresses", {"missing": 1}))
    assert walk(PENDING, waits) == walk(PENDING)
    assert walk(PENDING, RUNNING, RUNNING) == walk(PENDING, RUNNING)


def test_created_is_there_whoever_wrote_first() -> None:
    theirs: list[Manifest] = [{"type": "Running", "status": "True", "reason": "PyTorchJobRunning", "message": "theirs"}]
    found = walk(RUNNING, previous=theirs)
    assert [each["type"] for each in found] == ["Created", "Running"]
    assert found[1] == theirs[0]


def test_a_manifest_that_cannot_be_read_from_the_first_has_a_condition_that_says_so() -> None:
    cause = CauseRecord("InvalidJob", {"problems": ["spec.paddleReplicaSpecs: is missing"]})
    assert [each["type"] for each in walk((Phase.NONE, cause))] == ["Created"]
    assert walk((Phase.NONE, None)) == []
    invalid = walk((Phase.INVALID, cause))
    assert [each["type"] for each in invalid] == ["Created", "Invalid"], "the last one is printed as the state"
    assert "spec.paddleReplicaSpecs: is missing" in invalid[-1]["message"]
    assert invalid[-1]["reason"] == "PyTorchJobInvalid"
    assert shown((Phase.INVALID, cause), PENDING, RUNNING) == shown(PENDING, RUNNING), "an edit ends it"


def test_conditions_of_other_types_stay() -> None:
    theirs = {"type": "QuotaReserved", "status": "True", "any": "thing"}
    assert theirs in walk(PENDING, RUNNING, (Phase.SUSPENDED, SUSPENDED), previous=[theirs])
    done = [{"type": "Succeeded", "status": "True", "reason": "PaddleJobSucceeded", "message": "theirs"}]
    assert done[0] in walk((Phase.COMPLETED, None), previous=done)


@pytest.mark.parametrize("type_", ["Created", "Running", "Succeeded", "Suspended", "Invalid"])
def test_a_condition_without_a_status_that_somebody_wrote_counts_for_nothing(type_: str) -> None:
    for step in (PENDING, RUNNING, (Phase.SUSPENDED, SUSPENDED), (Phase.COMPLETED, COMPLETED)):
        assert walk(step, previous=[{"type": type_}]) == walk(step)


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
    assert build_conditions(read_conditions(conditions), last, 999.0, JOB) == conditions


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
