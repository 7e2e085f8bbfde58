"""Fields at the wrong level, in both groups: each is told with the path where it belongs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddock.manifests.documents import read_documents
from paddock.preflight import check, explain_problem

KUBEFLOW, PADDLE = "kubeflow.org/v1", "batch.paddlepaddle.org/v1"
ROLES = {KUBEFLOW: "spec.pytorchReplicaSpecs.Worker", PADDLE: "spec.worker"}


def build(version: str) -> dict[str, Any]:
    kubeflow = version == KUBEFLOW
    container = {"name": "pytorch" if kubeflow else "paddle", "image": "registry.example/train:1"}
    role = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    spec = {"pytorchReplicaSpecs": {"Worker": role}} if kubeflow else {"worker": role}
    kind = "PyTorchJob" if kubeflow else "PaddleJob"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "levels"}, "spec": spec}


def told(version: str, path: str, value: Any) -> list[str]:
    """The problems of a job with one more field. `path`: R stands for the role, T for its pods, C for its container."""
    manifest = build(version)
    place: Any = manifest
    *parents, last = write(version, path).replace("containers[0]", "containers.0").split(".")
    for step in parents:
        place = place[int(step)] if step.isdecimal() else place.setdefault(step, {})
    place[last] = value
    (document,) = read_documents(yaml.safe_dump(manifest))
    return [explain_problem(each) for each in check(document)]


def write(version: str, path: str) -> str:
    first, dot, rest = path.partition(".")
    role = ROLES[version]
    pods = f"{role}.template.spec"
    return {"R": role, "T": pods, "C": f"{pods}.containers[0]"}.get(first, first) + dot + rest


BOTH = (KUBEFLOW, PADDLE)
MISPLACED: list[tuple[tuple[str, ...], str, Any, str]] = [
    (BOTH, "spec.replicas", 2, "R.replicas"),
    (BOTH, "spec.backoffLimit", 3, "spec.runPolicy.backoffLimit"),
    (BOTH, "R.backoffLimit", 3, "spec.runPolicy.backoffLimit"),
    (BOTH, "spec.activeDeadlineSeconds", 60, "spec.runPolicy.activeDeadlineSeconds"),
    (BOTH, "spec.ttlSecondsAfterFinished", 60, "spec.runPolicy.ttlSecondsAfterFinished"),
    (BOTH, "spec.suspend", True, "spec.runPolicy.suspend"),
    ((KUBEFLOW,), "spec.cleanPodPolicy", "None", "spec.runPolicy.cleanPodPolicy"),
    ((KUBEFLOW,), "spec.restartPolicy", "Never", "R.restartPolicy"),
    ((PADDLE,), "spec.restartPolicy", "Never", "T.restartPolicy"),
    ((KUBEFLOW,), "spec.runPolicy.restartPolicy", "Never", "R.restartPolicy"),
    ((KUBEFLOW,), "spec.queue", "q", "spec.runPolicy.schedulingPolicy.queue"),
    ((PADDLE,), "spec.queue", "q", "spec.schedulingPolicy.queue"),
    ((KUBEFLOW,), "R.nprocPerNode", "2", "spec.nprocPerNode"),
    ((KUBEFLOW,), "R.minReplicas", 1, "spec.elasticPolicy.minReplicas"),
    (BOTH, "spec.template", {"spec": {}}, "R.template"),
    (BOTH, "spec.nodeSelector", {"a": "b"}, "T.nodeSelector"),
    (BOTH, "spec.tolerations", [], "T.tolerations"),
    (BOTH, "spec.serviceAccountName", "train", "T.serviceAccountName"),
    (BOTH, "spec.schedulerName", "volcano", "T.schedulerName"),
    (BOTH, "spec.priorityClassName", "high", "T.priorityClassName"),
    (BOTH, "R.nodeSelector", {"a": "b"}, "T.nodeSelector"),
    (BOTH, "R.imagePullSecrets", [{"name": "s"}], "T.imagePullSecrets"),
    (BOTH, "R.image", "i", "C.image"),
    (BOTH, "R.env", [], "C.env"),
    (BOTH, "R.resources", {"limits": {}}, "C.resources"),
    (BOTH, "R.labels", {"a": "b"}, "R.template.metadata.labels"),
    (BOTH, "T.image", "i", "C.image"),
    (BOTH, "T.command", ["a"], "C.command"),
    (BOTH, "T.volumeMounts", [], "C.volumeMounts"),
    (BOTH, "C.volumes", [], "T.volumes"),
    (BOTH, "C.nodeSelector", {"a": "b"}, "T.nodeSelector"),
    (BOTH, "C.hostNetwork", True, "T.hostNetwork"),
    (BOTH, "C.imagePullSecrets", [{"name": "s"}], "T.imagePullSecrets"),
    (BOTH, "C.schedulerName", "volcano", "T.schedulerName"),
    (BOTH, "C.limits", {"cpu": 1}, "C.resources.limits"),
    (BOTH, "C.memory", "1Gi", "C.resources.limits.memory"),
    (BOTH, "labels", {"a": "b"}, "metadata.labels"),
]


@pytest.mark.parametrize(
    ("version", "path", "value", "home"),
    [(version, path, value, home) for versions, path, value, home in MISPLACED for version in versions],
)
def test_a_field_at_the_wrong_level_is_told_with_its_place(version: str, path: str, value: Any, home: str) -> None:
    said = f"{write(version, path)}: there is no field of this name here; it belongs to {write(version, home)}"
    assert said in told(version, path, value)


@pytest.mark.parametrize("version", BOTH)
def test_the_restart_policy_of_a_container_is_that_of_its_role(version: str) -> None:
    home = {KUBEFLOW: "R.restartPolicy", PADDLE: "T.restartPolicy"}[version]
    (line,) = told(version, "C.restartPolicy", "Never")
    assert line.endswith(f"that of the role is {write(version, home)}")


@pytest.mark.parametrize("version", BOTH)
def test_resources_of_a_pod_are_not_those_of_its_container(version: str) -> None:
    (line,) = told(version, "T.resources", {"limits": {"cpu": "1"}})
    assert line.endswith(f"those of a container are {write(version, 'C.resources')}")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec.completions", 2, "is of a batch/v1 Job"),
        ("spec.tasks", [], "is of another kind of job"),
        ("spec.plugins", {"svc": []}, "is of Volcano's Job"),
        ("spec.runtimeRef", {"name": "torch"}, "is of a TrainJob of trainer.kubeflow.org"),
        ("spec.slotsPerWorker", 2, "is of an MPIJob"),
    ],
)
def test_a_field_of_another_kind_is_told_as_that(path: str, value: Any, said: str) -> None:
    (line,) = told(KUBEFLOW, path, value)
    assert line.startswith(f"{path}: {said}")


def test_the_name_of_a_gpu_before_kubernetes_1_10_is_told() -> None:
    (line,) = told(KUBEFLOW, "C.resources", {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}})
    assert "no node has it: write nvidia.com/gpu" in line


@pytest.mark.slow
def test_a_thousand_roles_are_looked_through_once() -> None:
    manifest = build(KUBEFLOW)
    role = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]
    roles = {f"R{number}": {**role, "nodeSelector": {}} for number in range(1_000)}
    manifest["spec"]["pytorchReplicaSpecs"] = roles
    (document,) = read_documents(yaml.safe_dump(manifest))
    lines = [explain_problem(each) for each in check(document)]
    assert sum("it belongs to spec.pytorchReplicaSpecs." in line for line in lines) == 1_000
