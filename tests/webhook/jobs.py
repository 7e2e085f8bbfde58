"""A job, and edits of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from paddock.kube.meta import Manifest
from paddock.webhook.review import MOST_VALUES

JOB: Manifest = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "metadata": {"name": "demo", "namespace": "default"},
    "spec": {
        "worker": {
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "main", "image": "paddle:3", "command": ["python"]}]}},
        }
    },
}
STORED = {
    "uid": "u", "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"manager": "kubectl"}], "ownerReferences": [{"kind": "Workflow", "name": "w", "uid": "x"}],
}  # fmt: skip

Edit = Callable[[Manifest], Any]


def make(*edits: Edit) -> Manifest:
    job = copy.deepcopy(JOB)
    for edit in edits:
        edit(job)
    return job


def container(job: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    return found


def nothing(_: Manifest) -> None: ...
def negative(job: Manifest) -> None:
    job["spec"]["worker"]["replicas"] = -1


def more_negative(job: Manifest) -> None:
    job["spec"]["worker"]["replicas"] = -2


def of_the_operator(job: Manifest) -> None:
    job["spec"]["worker"]["template"]["spec"]["serviceAccountName"] = "paddle-manager-sa"


def no_image(job: Manifest) -> None:
    container(job)["image"] = ""


def labelled(job: Manifest) -> None:
    job["metadata"]["labels"] = {"team": "a"}


def ended(job: Manifest) -> None:
    job["status"] = {"phase": "Completed"}


def in_deletion(job: Manifest) -> None:
    job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"


def of_another(job: Manifest) -> None:
    job["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}


def of_kubeflow(job: Manifest) -> None:
    job["apiVersion"] = "kubeflow.org/v1"
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["name"] = "paddle"
    job["spec"] = {"paddleReplicaSpecs": {"Worker": job["spec"]["worker"]}}


def of_a_stranger(job: Manifest) -> None:
    job["apiVersion"] = "somebody.org/v1"


def stored(job: Manifest) -> None:
    job["metadata"] |= STORED


def with_a_sidecar(job: Manifest) -> None:
    job["spec"]["worker"]["template"]["spec"]["containers"].insert(0, {"name": "log", "image": "log:1"})


def twice_the_name(job: Manifest) -> None:
    job["spec"]["worker"]["template"]["spec"]["containers"] += [container(job), container(job)]


def huge(job: Manifest) -> None:
    container(job)["env"] = [{"name": f"A{i}", "value": "x"} for i in range(MOST_VALUES)]
    negative(job)


REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {"uid": "1", "operation": "CREATE", "object": JOB, "oldObject": None},
}
