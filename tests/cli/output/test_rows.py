"""Jobs, pods and environments as rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.output import rows
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_PADDLE, KUBEFLOW_PYTORCH
from paddock.kube.times import format_time
from paddock.operator.record import with_invalid_job
from paddock.views.environments import read_environment_row
from paddock.views.jobs import JobRow, read_job_row
from paddock.views.pods import rank_name, read_pod_row
from paddock.views.short_sentences import shorten
from paddock.views.stored import read_stored
from paddock.words.problems import InvalidJob

NOW = 1_700_000_000.0
CREATED = format_time(NOW - 41)


WENT_ON = 'Traceback (most recent call last):\n  File "t.py", line 8, in main\nOSError: shard 3\ngoing on\n'


def build_pod(status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "demo-worker-0", "creationTimestamp": CREATED, **metadata},
        "spec": {"containers": [{"name": "paddle"}], "nodeName": "here"},
        "status": status,
    }


def container(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "paddle", "state": state, **more}]}


@pytest.mark.parametrize(
    ("status", "row"),
    [
        ({}, ["demo", "Pending", "", "", "41s", ""]),
        (
            {"phase": "Completed", "mode": "PS", "ps": {"refs": 2, "running": 2, "ready": "2/2"}},
            ["demo", "Completed", "PS", "2/2", "0/2", "41s", ""],
        ),
        (
            {"phase": "Completed", "mode": "PS", "worker": {"succeeded": 1}, "ps": {"running": 2, "ready": "2/2"}},
            ["demo", "Completed", "PS", "2/2", "1/2", "41s", ""],
        ),
        (
            {"phase": "Failed", "mode": "PS", "worker": {"succeeded": 1}},
            ["demo", "Failed", "PS", "0/2", "0/2", "41s", ""],
        ),
    ],
)
def test_a_job_is_a_row_of_the_documents_table(status: dict[str, Any], row: list[str]) -> None:
    job = build_manifest(ps=2)
    job["metadata"]["creationTimestamp"] = CREATED
    job["status"] = status
    assert rows.build_job_cells(read_job_row(RESOURCE, job), NOW) == row


def read_cells(row: JobRow) -> dict[str, str]:
    """The cells of a job by their headings, alone in a table."""
    header = rows.build_job_header(rows.choose_columns([row]))
    return dict(zip(header, rows.build_job_cells(row, NOW), strict=True))


TOO_FEW = "spec.worker.replicas: found 0, a whole number from 1 to 10000 is allowed"
NO_TEMPLATE = "spec.worker.template: is missing: a pod template with at least one container is needed"
NO_ROLE = "spec.worker: is missing: every job trains in its workers, with parameter servers too"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (build_manifest(workers=0)["spec"], TOO_FEW),
        ({"worker": {"replicas": 1}}, NO_TEMPLATE),
        ({}, NO_ROLE),
        ({"worker": {"replicas": 0}}, f"{TOO_FEW} (and 1 more)"),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_job_that_can_never_run_is_invalid_and_why_is_its_first_problem(
    spec: dict[str, Any], why: str, recorded: bool
) -> None:
    """Also where no operator has looked at it, and one of an operator that records no phase for it."""
    job = build_manifest() | {"spec": spec}
    stored = read_stored(RESOURCE, job)
    with pytest.raises(InvalidJob) as refusal:
        KINDS[RESOURCE].read_job(job)
    if recorded:
        status = with_invalid_job(stored.status, refusal.value, NOW)
        job["status"] = KINDS[RESOURCE].write_status({}, status, NOW)
        assert job["status"]["phase"] == "Invalid"
    cells = read_cells(read_job_row(RESOURCE, job))
    assert (cells["STATUS"], cells["WHY"]) == ("Invalid", shorten(why))
    wide = rows.build_job_cells(read_job_row(RESOURCE, job), NOW, wide=True)
    assert wide[-1].startswith("waiting: the manifest is wrong: ") and why.partition(" (and")[0] in wide[-1]
    old = {**job, "status": {key: value for key, value in job.get("status", {}).items() if key != "phase"}}
    assert rows.build_job_cells(read_job_row(RESOURCE, old), NOW)[1] == "Invalid"


def test_an_edit_that_is_wrong_leaves_the_phase_of_a_job_that_has_begun() -> None:
    job = build_manifest(workers=0) | {"status": {"phase": "Running", "attempt": 0}}
    assert rows.build_job_cells(read_job_row(RESOURCE, job), NOW)[1] == "Running"


def test_the_master_of_kubeflow_is_in_the_column_of_servers() -> None:
    template = {"spec": {"containers": [{"name": "paddle", "image": "busybox"}]}}
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 2, "template": template}}
    counts = {"Master": {"active": 1, "ready": 1}, "Worker": {"active": 2, "ready": 2}}
    job = {
        "metadata": {"name": "demo", "creationTimestamp": CREATED},
        "spec": {"paddleReplicaSpecs": roles},
        "status": {"replicaStatuses": counts},
    }
    row = read_cells(read_job_row(KUBEFLOW_PADDLE.resource, job))
    assert row["PS"] == "1/1" and row["WORKER"] == "2/2"


def build_pytorch_job() -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "busybox"}]}}
    return {
        "metadata": {"name": "mnist", "creationTimestamp": CREATED},
        "spec": {"pytorchReplicaSpecs": {"Master": {"template": template}, "Worker": {"template": template}}},
        "status": {"replicaStatuses": {"Master": {"active": 1}, "Worker": {"active": 1}}, "phase": "Running"},
    }


def test_a_table_has_the_columns_of_the_frameworks_in_it_and_no_other() -> None:
    paddle = read_job_row(RESOURCE, build_manifest(ps=2) | {"status": {"phase": "Running", "ps": {"running": 2}}})
    torch = read_job_row(KUBEFLOW_PYTORCH.resource, build_pytorch_job())
    assert rows.choose_columns([paddle]) == ("PS", "WORKER")
    alone = replace(paddle, mode="Single", counts={"PS": None, "WORKER": paddle.counts["WORKER"]})
    assert rows.choose_columns([alone]) == ("WORKER",), "neither a mode that is no choice, nor servers that nobody has"
    assert rows.choose_columns([alone, replace(paddle, mode="PS")]) == ("MODE", "PS", "WORKER")
    columns = rows.choose_columns([torch, paddle])
    assert columns == ("PS", "MASTER", "WORKER")
    cells = [rows.build_job_cells(row, NOW, columns=columns)[2:5] for row in (torch, paddle)]
    assert cells == [["", "1/1", "1/1"], ["2/2", "", "0/2"]]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({}, "managed by kueue.x-k8s.io/multikueue, not by Paddock"),
        ({"phase": "Pending", "cause": {"reason": "Deleting", "args": {}}}, "being deleted, together with its pods"),
    ],
)
def test_why_nothing_happens_to_another_managers_job_is_that_manager(status: dict[str, Any], why: str) -> None:
    job = build_manifest(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}) | {"status": status}
    assert rows.build_job_cells(read_job_row(RESOURCE, job), NOW)[-1] == why


@pytest.mark.parametrize("most", [None, 100, 70])
def test_why_is_cut_only_to_a_room_that_is_known(most: int | None) -> None:
    message = "0/1 nodes are available: " + ", ".join(f"1 Insufficient example.com/device-{n}" for n in range(9))
    job = build_manifest()
    args = {"pods": 2, "wanted": 2, "message": message}
    job["status"] = {"phase": "Pending", "cause": {"reason": "WaitingForScheduler", "args": args}}
    row = read_job_row(RESOURCE, job)
    why = rows.build_job_cells(row, NOW, most=most)[-1]
    if most is None:
        assert why.endswith("device-8 free") and "…" not in why
    else:
        assert len(why) <= most and "example.com/device-0" in why and why.endswith("…")


def test_why_is_in_the_readers_language() -> None:
    job = build_manifest()
    job["status"] = {"phase": "Pending", "cause": {"reason": "Deleting", "args": {}, "since": CREATED}}
    assert rows.build_job_cells(read_job_row(RESOURCE, job), NOW, "zh")[-1] == "正在删除任务及其 Pod"


@pytest.mark.parametrize(
    ("status", "ready", "reason", "why"),
    [
        ({}, "0/1", "Pending", ""),
        (
            {"phase": "Failed", **container({"terminated": {"exitCode": 137, "reason": "Error", "message": WENT_ON}})},
            "0/1",
            "Error",
            "going on (exit code 137)",
        ),
        (
            {"phase": "Pending", **container({"waiting": {"reason": "EnvironmentBuilding", "message": "of\n paddle"}})},
            "0/1",
            "EnvironmentBuilding",
            "of paddle",
        ),
    ],
)  # fmt: skip
def test_a_pod_says_what_kubectl_says_and_why(status: dict[str, Any], ready: str, reason: str, why: str) -> None:
    """Of pods that run, have ended or find no node tests/net has it."""
    row = dict(zip(rows.POD_HEADER, rows.build_pod_cells(read_pod_row(build_pod(status)), NOW), strict=True))
    assert (row["READY"], row["STATUS"], row["WHY"], row["AGE"]) == (ready, reason, why, "41s")


NO_MODULE = "ModuleNotFoundError: No module named 'http.server'; 'http' is not a package"


@pytest.mark.parametrize("key", ["containerStatuses", "initContainerStatuses"])
@pytest.mark.parametrize("message", [NO_MODULE, f"Traceback (most recent call last):\n{NO_MODULE}"])
def test_what_a_program_said_is_told_in_its_own_words_in_every_language(message: str, key: str) -> None:
    [status] = container({"terminated": {"exitCode": 1, "reason": "Error", "message": message}})["containerStatuses"]
    row = read_pod_row(build_pod({"phase": "Failed", key: [status]}))
    cells = dict(zip(rows.POD_HEADER, rows.build_pod_cells(row, NOW, "zh"), strict=True))
    assert row.message == f"{NO_MODULE} (exit code 1)"
    assert NO_MODULE in cells["WHY"]


@pytest.mark.parametrize(
    ("spec", "message", "why"),
    [
        ({"nodeName": ""}, "", "asks for room for a larger gang; it runs nothing"),
        ({"nodeName": ""}, "0/1 nodes", "asks for room for a larger gang; it runs nothing: 0/1 nodes"),
        ({"nodeName": "laptop"}, "configmap not found", "holds room for a larger gang; it runs nothing"),
    ],
)
def test_a_spare_pod_says_what_it_is_for(spec: dict[str, Any], message: str, why: str) -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}]
    pod = build_pod({"phase": "Pending", "conditions": conditions}, labels={"paddock.dev/spare": "true"})
    pod["spec"] |= spec
    row = dict(zip(rows.POD_HEADER, rows.build_pod_cells(read_pod_row(pod), NOW), strict=True))
    assert (row["STATUS"], row["WHY"]) == ("Spare", why)


def test_a_pod_that_is_being_deleted_is_terminating() -> None:
    pod = build_pod({"phase": "Running", **container({"running": {}})}, deletionTimestamp=CREATED)
    assert rows.build_pod_cells(read_pod_row(pod), NOW)[2] == "Terminating"


@pytest.mark.parametrize(
    ("labels", "annotations", "name"),
    [
        ({"paddock.dev/role": "worker"}, {}, "worker-0"),
        ({}, {"paddle-resource": "ps"}, "ps-0"),  # another operator's pod
        ({}, {}, "demo-worker-0"),
    ],
)
def test_a_rank_s_name_is_without_the_job_s(labels: dict[str, str], annotations: dict[str, str], name: str) -> None:
    assert rank_name(build_pod({}, labels=labels, annotations=annotations)) == name


@pytest.mark.parametrize(
    ("status", "row"),
    [
        ({}, ["paddle-ps", "Pending", "", "41s", "paddlepaddle==3.0.0, protobuf<7"]),
        (
            {"phase": "Building", "progress": 61, "message": "building (paddlepaddle 3.0.0), 61 %"},
            ["paddle-ps", "Building", "61 %", "41s", "building (paddlepaddle 3.0.0), 61 %"],
        ),
    ],
)
def test_an_environment_says_how_far_it_is(status: dict[str, Any], row: list[str]) -> None:
    environment = {
        "metadata": {"name": "paddle-ps", "creationTimestamp": CREATED},
        "spec": {"requirements": ["paddlepaddle==3.0.0", "protobuf<7"]},
        "status": status,
    }
    assert rows.build_environment_cells(read_environment_row(environment), NOW) == row


def test_namespaces_come_first() -> None:
    header, cells = rows.with_namespace([{"metadata": {"namespace": "team"}}], ["NAME"], [["demo"]])
    assert (header, cells) == (["NAMESPACE", "NAME"], [["team", "demo"]])


def test_a_side_car_counts_as_ready_and_its_end_is_no_reason() -> None:
    ended = {"name": "mount", "state": {"terminated": {"exitCode": 143, "reason": "Error"}}, "ready": False}
    pod = build_pod({"phase": "Running", **container({"running": {}}), "initContainerStatuses": [ended]})
    pod["spec"]["initContainers"] = [{"name": "mount", "restartPolicy": "Always"}]
    assert rows.build_pod_cells(read_pod_row(pod), NOW)[1:3] == ["0/2", "Running"]
    pod["status"]["initContainerStatuses"] = [{"name": "mount", "state": {"running": {}}, "ready": True}]
    assert rows.build_pod_cells(read_pod_row(pod), NOW)[1:3] == ["1/2", "Running"]
    waits = {**ended, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
    pod["status"]["initContainerStatuses"] = [waits]
    assert rows.build_pod_cells(read_pod_row(pod), NOW)[2] == "Running"
    pod["status"] = {"phase": "Pending", "initContainerStatuses": [waits]}
    assert rows.build_pod_cells(read_pod_row(pod), NOW)[1:3] == ["0/2", "CrashLoopBackOff"]
