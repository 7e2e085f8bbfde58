"""kubeflow.org/v1 PaddleJob: one good base and one change per row; the status there and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.anything import ARGS, COUNTS, JSON, MOMENTS, merged
from jobs.samples import KUBEFLOW_JOBS, read_manifest, read_sample, with_value
from paddock.jobs.apis.registry import KUBEFLOW_PADDLE
from paddock.jobs.conditions import follow_pods
from paddock.jobs.model import (
    CauseRecord,
    CleanPods,
    Counts,
    Phase,
    Policies,
    Rank,
    RestartPolicy,
    Scheduling,
    Status,
    Successes,
)
from paddock.kube.meta import Key, Manifest
from paddock.kube.patches import merge_patch
from paddock.words.problems import InvalidJob

SPECS = ("spec", "paddleReplicaSpecs")
WORKER = (*SPECS, "Worker")
TEMPLATE = (*WORKER, "template", "spec")
CONTAINER = (*TEMPLATE, "containers", 0)
RUN = ("spec", "runPolicy")


def base() -> Manifest:
    return read_manifest("kubeflow_distributed")


def refused(manifest: Manifest) -> dict[str, str]:
    with pytest.raises(InvalidJob) as caught:
        KUBEFLOW_PADDLE.read_job(manifest)
    return {problem.path: problem.message for problem in caught.value.problems if problem.severity == "error"}


def warned(manifest: Manifest) -> list[str]:
    return [warning.path for warning in KUBEFLOW_PADDLE.read_job(manifest).warnings]


@pytest.mark.parametrize(
    ("name", "replicas", "mode"), [(KUBEFLOW_JOBS[0], 1, "Single"), (KUBEFLOW_JOBS[1], 2, "Collective")]
)
def test_the_documents_jobs_are_read(name: str, replicas: int, mode: str) -> None:
    job = read_sample(name)
    assert [(role.name, role.replicas, role.restart) for role in job.roles] == [
        ("worker", replicas, RestartPolicy.ON_FAILURE)
    ]
    assert (job.mode, job.key.namespace, job.network.rendezvous) == (mode, "kubeflow", True)


READ: list[tuple[tuple[str, ...], Any, str, Any]] = [
    ((*WORKER, "replicas"), ..., "size", 1),
    ((*WORKER, "restartPolicy"), ..., "roles.0.restart", RestartPolicy.ON_FAILURE),
    ((*WORKER, "restartPolicy"), "Never", "roles.0.restart", RestartPolicy.NEVER),
    ((*WORKER, "restartPolicy"), "Always", "roles.0.restart", RestartPolicy.ALWAYS),
    ((*WORKER, "restartPolicy"), "ExitCode", "roles.0.restart", RestartPolicy.EXIT_CODE),
    (RUN, ..., "policies", Policies(clean_pods=CleanPods.RUNNING)),
    ((*RUN, "cleanPodPolicy"), "All", "policies.clean_pods", CleanPods.ALWAYS),
    ((*RUN, "cleanPodPolicy"), "Running", "policies.clean_pods", CleanPods.RUNNING),
    ((*RUN, "cleanPodPolicy"), "None", "policies.clean_pods", CleanPods.NEVER),
    ((*RUN, "managedBy"), "kubeflow.org/training-operator", "size", 2),
    (
        RUN,
        {"backoffLimit": 3, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 0, "suspend": True},
        "policies",
        Policies(3, 60.0, 0.0, True, CleanPods.RUNNING),
    ),
    (
        (*RUN, "schedulingPolicy"),
        {"minAvailable": 1, "queue": "q", "priorityClass": "p", "scheduleTimeoutSeconds": 60},
        "scheduling",
        Scheduling(1, "q", "p", schedule_timeout=60),
    ),
    (("spec", "elasticPolicy"), {"minReplicas": 1, "maxReplicas": 4}, "launch.elastic", None),
    (("metadata", "namespace"), "team", "key", Key("team", "paddle-distributed-job")),
]


@pytest.mark.parametrize(("path", "value", "attribute", "expected"), READ)
def test_a_field_is_read(path: tuple[str, ...], value: Any, attribute: str, expected: Any) -> None:
    there = value is not ... or path[-1] in ("replicas", "restartPolicy")
    found: Any = KUBEFLOW_PADDLE.read_job(with_value(base(), path, value) if there else base())
    for part in attribute.split("."):
        found = found[int(part)] if part.isdigit() else getattr(found, part)
    assert found == expected


@pytest.mark.parametrize(
    ("manager", "warned"),
    [("kubeflow.org/training-operator", []), ("", []), ("kueue.x-k8s.io/multikueue", ["spec.runPolicy.managedBy"])],
)
def test_another_manager_that_kubeflow_knows_is_a_warning(manager: str, warned: list[str]) -> None:
    job = KUBEFLOW_PADDLE.read_job(with_value(base(), (*RUN, "managedBy"), manager))
    assert [each.path for each in job.warnings] == warned
    assert all(each.message.startswith(f"{manager} runs this job: ") for each in job.warnings)


def with_master(replicas: int = 1) -> Manifest:
    worker = base()["spec"]["paddleReplicaSpecs"]["Worker"]
    return with_value(base(), (*SPECS, "Master"), worker | {"replicas": replicas})


def test_masters_are_parameter_servers_and_decide() -> None:
    job = KUBEFLOW_PADDLE.read_job(with_master(2))
    assert [(role.name, role.replicas, role.decides, role.trains) for role in job.roles] == [
        ("master", 2, True, False),
        ("worker", 2, False, True),
    ]
    assert job.mode == "PS"
    assert [str(rank) for rank in job.ranks()] == ["master-0", "master-1", "worker-0", "worker-1"]


def test_masters_alone_are_a_job_as_with_kubeflow() -> None:
    job = KUBEFLOW_PADDLE.read_job(with_value(with_master(), WORKER, ...))
    assert [str(rank) for rank in job.ranks()] == ["master-0"]


REPLICAS = "a whole number from 0 to 10000"
AT = "spec.paddleReplicaSpecs"
REFUSED: list[tuple[tuple[str | int, ...], Any, str, str]] = [
    ((*WORKER, "replicas"), -1, f"{AT}.Worker.replicas", f"found -1, {REPLICAS} is allowed"),
    ((*WORKER, "replicas"), "two", f"{AT}.Worker.replicas", f'found "two", {REPLICAS} is allowed'),
    (
        SPECS,
        ...,
        AT,
        "is missing: a mapping with Worker, and Master where there are parameter servers, is needed",
    ),
    (
        WORKER,
        None,
        AT,
        "found a mapping, a mapping with Worker, and Master where there are parameter servers, is allowed",
    ),
    (
        (*SPECS, "worker"),
        {},
        f"{AT}.worker",
        'found "worker", Master or Worker is allowed; did you mean "Worker"?',
    ),
    (
        (*WORKER, "restartPolicy"),
        "Sometimes",
        f"{AT}.Worker.restartPolicy",
        'found "Sometimes", Never, OnFailure, Always or ExitCode is allowed',
    ),
    (
        (*RUN, "cleanPodPolicy"),
        "none",
        "spec.runPolicy.cleanPodPolicy",
        'found "none", All, Running or None is allowed; did you mean "None"?',
    ),
    (
        (*RUN, "managedBy"),
        "kueue.x-k8s.io/multi-kueue",
        "spec.runPolicy.managedBy",
        'found "kueue.x-k8s.io/multi-kueue", kubeflow.org/training-operator or kueue.x-k8s.io/multikueue is allowed; '
        'did you mean "kueue.x-k8s.io/multikueue"?',
    ),
    (
        (*RUN, "schedulingPolicy"),
        {"minAvailable": 3},
        "spec.runPolicy.schedulingPolicy.minAvailable",
        "found 3, a whole number from 1 to 2 is allowed",
    ),
    (
        (*WORKER, "template"),
        ...,
        f"{AT}.Worker.template",
        "is missing: a pod template with at least one container is needed",
    ),
    (
        ("spec", "elasticPolicy"),
        {"minReplicas": -1},
        "spec.elasticPolicy.minReplicas",
        "found -1, a whole number from 0 to 2147483647 is allowed",
    ),
]


@pytest.mark.parametrize(("path", "value", "at", "message"), REFUSED)
def test_a_wrong_value_is_refused_with_where_what_and_what_is_allowed(
    path: tuple[str | int, ...], value: Any, at: str, message: str
) -> None:
    assert refused(with_value(base(), path, value)) == {at: message}


WARNED: list[tuple[tuple[str | int, ...], Any, list[str]]] = [
    (("spec", "elasticPolicy"), {"maxRestarts": 3}, ["spec.elasticPolicy.maxRestarts"]),
    ((*TEMPLATE, "restartPolicy"), "Never", [f"{AT}.Worker.template.spec.restartPolicy"]),
    ((*TEMPLATE, "restartPolicy"), "OnFailure", []),
    ((*CONTAINER, "name"), "main", [f"{AT}.Worker.template.spec.containers"]),
]


@pytest.mark.parametrize(("path", "value", "paths"), WARNED)
def test_what_has_no_effect_is_said(path: tuple[str | int, ...], value: Any, paths: list[str]) -> None:
    assert warned(with_value(base(), path, value)) == paths


def test_a_role_may_have_no_pod_as_with_kubeflow_and_workers_decide_where_there_is_no_master() -> None:
    job = KUBEFLOW_PADDLE.read_job(with_master(0))
    assert [(role.name, role.replicas, role.decides) for role in job.roles] == [
        ("master", 0, True),
        ("worker", 2, True),
    ]
    assert KUBEFLOW_PADDLE.read_job(with_value(base(), (*WORKER, "replicas"), 0)).size == 0


def test_every_problem_is_told_at_once() -> None:
    manifest = with_value(base(), (*WORKER, "replicas"), -1)
    manifest = with_value(manifest, (*RUN, "cleanPodPolicy"), "Al")
    manifest = with_value(manifest, ("metadata", "name"), "Wide")
    assert set(refused(manifest)) == {f"{AT}.Worker.replicas", "spec.runPolicy.cleanPodPolicy", "metadata.name"}


SUCCESSES = st.builds(Successes, st.frozensets(st.integers(0, 9_999), min_size=1, max_size=9), MOMENTS)
STATUSES = st.builds(
    Status,
    phase=st.sampled_from(Phase),
    mode=st.sampled_from(["", "PS", "Collective", "Single"]),
    attempt=st.integers(0, 1000),
    restarts=st.integers(0, 1000),
    roles=st.dictionaries(st.sampled_from(["master", "worker"]), COUNTS),
    cause=st.none() | st.builds(CauseRecord, st.text(min_size=1, max_size=9), ARGS, MOMENTS),
    started=MOMENTS,
    finished=MOMENTS,
    succeeded=st.dictionaries(st.sampled_from(["master", "worker"]), SUCCESSES),
    observed_generation=st.integers(0, 1000),
    renewals=st.dictionaries(st.sampled_from(["master-0", "worker-0", "worker-1"]), st.integers(1, 9)),
    renewed=MOMENTS,
).map(lambda status: status if status.phase.terminal else replace(status, finished=None))
"""An end has a time, and nothing else has it."""


@given(STATUSES, STATUSES)
def test_a_status_that_was_written_over_another_reads_back(before: Status, after: Status) -> None:
    assume(not before.phase.terminal or after.phase is before.phase)
    first = merged({}, KUBEFLOW_PADDLE.write_status({}, before, 0.0))
    assert KUBEFLOW_PADDLE.read_status({"status": first}) == before
    theirs = {"type": "Theirs", "status": "True"}
    foreign = first | {"conditions": [theirs, *first.get("conditions", [])], "lastReconcileTime": "x"}
    second = merged(foreign, KUBEFLOW_PADDLE.write_status(foreign, after, 0.0))
    assert KUBEFLOW_PADDLE.read_status({"status": second}) == after
    assert second["conditions"][0] == theirs and second["lastReconcileTime"] == "x"
    assert merged(second, KUBEFLOW_PADDLE.write_status(second, after, 1.0)) == second


@given(JSON | st.fixed_dictionaries({"conditions": JSON, "replicaStatuses": JSON, "attempt": JSON}))
def test_any_status_can_be_read_and_written_over(raw: Any) -> None:
    manifest = {"status": raw, "spec": raw}
    status = KUBEFLOW_PADDLE.read_status(manifest)
    previous = raw if isinstance(raw, dict) else {}
    written = merged(previous, KUBEFLOW_PADDLE.write_status(previous, status, 0.0))
    assert KUBEFLOW_PADDLE.read_status({"status": written}) == status


def test_the_status_has_kubeflows_shape() -> None:
    roles = {"worker": Counts(4, pending=1, starting=1, running=2)}
    cause = CauseRecord("PodsStarting", {"starting": 2, "wanted": 4}, 0.0)
    status = Status(Phase.PENDING, "Collective", roles=roles, cause=cause, started=0.0)
    manifest = {"metadata": {"namespace": "team", "name": "demo"}}
    labels = ("job-name=demo", "operator-name=paddlejob-controller", "replica-type=worker")
    worker = {
        "ready": "2/4",
        "active": 3,
        "pending": 1,
        "starting": 1,
        "selector": ",".join(f"training.kubeflow.org/{each}" for each in labels),
    }
    assert KUBEFLOW_PADDLE.write_status({}, status, 5.0, manifest) == {
        "conditions": [
            {
                "type": "Created",
                "status": "True",
                "reason": "PaddleJobCreated",
                "message": "PaddleJob demo is created.",
                "lastUpdateTime": "1970-01-01T00:00:05Z",
                "lastTransitionTime": "1970-01-01T00:00:05Z",
            }
        ],
        "replicaStatuses": {"Worker": worker},
        "startTime": "1970-01-01T00:00:00Z",
        "phase": "Pending",
        "mode": "Collective",
        "attempt": 0,
        "restarts": 0,
        "cause": {"reason": "PodsStarting", "args": {"starting": 2, "wanted": 4}, "since": "1970-01-01T00:00:00Z"},
        "why": "2 of 4 pods are starting",
    }


@pytest.mark.parametrize(("restart", "word"), [("ExitCode", "failing"), ("Never", "failed")])
def test_the_message_of_a_failure_follows_the_restart_policy_of_its_role(restart: str, word: str) -> None:
    manifest = base()
    manifest["metadata"] = {"namespace": "team", "name": "demo"}
    manifest["spec"]["paddleReplicaSpecs"]["Worker"]["restartPolicy"] = restart
    cause = CauseRecord("RankFailed", {"ranks": ["worker-0"], "code": 1}, 0.0)
    status = Status(Phase.FAILED, roles={"worker": Counts(2, failed=1)}, cause=cause)
    written = KUBEFLOW_PADDLE.write_status({}, status, 5.0, manifest)
    assert f" is {word} because " in written["conditions"][-1]["message"]


def test_a_job_of_a_long_name_is_scaled_by_the_labels_that_its_pods_have() -> None:
    manifest = base()
    manifest["metadata"] = {"namespace": "team", "name": "n" * 100}
    job = KUBEFLOW_PADDLE.read_job(manifest)
    written = KUBEFLOW_PADDLE.write_status({}, Status(Phase.RUNNING, roles={"worker": Counts(2)}), 5.0, manifest)
    labels = KUBEFLOW_PADDLE.build_pod_labels(job, Rank("worker", 0)).labels
    for pair in written["replicaStatuses"]["Worker"]["selector"].split(","):
        name, _, value = pair.partition("=")
        assert labels[name] == value


def test_a_status_of_kubeflows_operator_is_read() -> None:
    conditions = [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}]
    replicas = {"Worker": {"active": 1, "succeeded": 1, "selector": "a=b"}}
    manifest = base() | {"status": {"conditions": conditions, "replicaStatuses": replicas}}
    status = KUBEFLOW_PADDLE.read_status(manifest)
    assert (status.phase, status.attempt) == (Phase.RUNNING, 0)
    assert status.roles == {"worker": Counts(2, running=1, succeeded=1)}
    written = merged(manifest["status"], KUBEFLOW_PADDLE.write_status(manifest["status"], status, 0.0))
    assert written["replicaStatuses"]["Worker"]["selector"] == "a=b"


def test_a_finished_job_is_active_as_long_as_it_has_a_pod_that_runs() -> None:
    """Kueue and `kubectl get` read `active`; the conditions stay as they were at the end."""
    manifest = read_manifest("kubeflow_distributed")
    job = KUBEFLOW_PADDLE.read_job(manifest)
    counts = {role.name: Counts(role.replicas, running=1) for role in job.roles}
    done = CauseRecord("Completed", {"succeeded": 1}, 50.0)
    status = Status(Phase.COMPLETED, roles=counts, cause=done, finished=50.0)
    raw = merge_patch({}, KUBEFLOW_PADDLE.write_status({}, status, 50.0))
    assert {each["active"] for each in raw["replicaStatuses"].values()} == {1}
    followed = follow_pods(job, KUBEFLOW_PADDLE.read_status(manifest | {"status": raw}), (), ())
    later = merge_patch(raw, KUBEFLOW_PADDLE.write_status(raw, followed, 99.0))
    assert not any("active" in each for each in later["replicaStatuses"].values())
    assert {**later, "replicaStatuses": {}} == {**raw, "replicaStatuses": {}}
