"""The CustomResourceDefinitions of the kinds of job, and that they take what worked before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobs.samples import JOBS, KUBEFLOW_JOBS, read_manifest
from paddock.jobs.apis import JobApi, kubeflow, paddlepaddle
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.crd import build_crd, build_crds
from paddock.jobs.model import CauseRecord, Counts, Phase, Status
from paddock.jobs.structure import check_structure
from paddock.kube.meta import Manifest, name_of


def version(api: JobApi) -> Manifest:
    found: Manifest = build_crd(api)["spec"]["versions"][0]
    return found


def schema(api: JobApi) -> Manifest:
    found: Manifest = version(api)["schema"]["openAPIV3Schema"]
    return found


def columns(api: JobApi) -> dict[str, str]:
    return {column["name"]: column["jsonPath"] for column in version(api)["additionalPrinterColumns"]}


def test_there_is_one_of_each_kind() -> None:
    assert [name_of(crd) for crd in build_crds()] == ["paddlejobs.batch.paddlepaddle.org", "paddlejobs.kubeflow.org"]


def test_the_names_and_columns_are_those_that_the_documents_show() -> None:
    assert build_crd(paddlepaddle)["spec"]["names"]["shortNames"] == ["pdj"]
    assert columns(paddlepaddle) == {
        "Status": ".status.phase",
        "Mode": ".status.mode",
        "PS": ".status.ps.ready",
        "Worker": ".status.worker.ready",
        "Age": ".metadata.creationTimestamp",
    }
    assert version(paddlepaddle)["subresources"] == {"status": {}}


def test_kubeflows_names_and_columns_are_its_own() -> None:
    names = build_crd(kubeflow)["spec"]["names"]
    assert names == {
        "kind": "PaddleJob",
        "listKind": "PaddleJobList",
        "plural": "paddlejobs",
        "singular": "paddlejob",
    }
    assert columns(kubeflow) == {"State": ".status.conditions[-1:].type", "Age": ".metadata.creationTimestamp"}
    assert version(kubeflow)["subresources"]["scale"] == {
        "specReplicasPath": ".spec.paddleReplicaSpecs.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
    }


@pytest.mark.parametrize("crd", build_crds(), ids=name_of)
def test_kubectl_apply_can_keep_it_in_an_annotation(crd: Manifest) -> None:
    assert len(json.dumps(crd, separators=(",", ":"))) < 256 * 1024


@pytest.mark.parametrize("name", [*JOBS, *KUBEFLOW_JOBS])
def test_the_documents_jobs_fit_the_schema(name: str) -> None:
    manifest = read_manifest(name)
    api = next(api for resource, api in KINDS.items() if resource.api_version == manifest["apiVersion"])
    assert list(check_structure(schema(api), manifest)) == []


def test_values_that_paddle_operator_took_can_still_be_stored() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"] |= {"cleanPodPolicy": "OnFailed", "intranet": "any", "elastic": 0}
    manifest["spec"]["ps"] |= {"replicas": 0, "requests": 1, "limits": 3}
    assert list(check_structure(schema(paddlepaddle), manifest)) == []


def test_values_that_kubeflow_took_can_still_be_stored() -> None:
    manifest = read_manifest("kubeflow_distributed")
    policy: dict[str, Any] = {"cleanPodPolicy": "", "managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}
    policy["schedulingPolicy"] = {"queue": "q", "minResources": {"cpu": "1"}, "scheduleTimeoutSeconds": 9}
    metrics = [{"type": "Resource", "resource": {"name": "cpu"}}]
    manifest["spec"] |= {"runPolicy": policy, "elasticPolicy": {"minReplicas": 1, "maxReplicas": 4, "metrics": metrics}}
    manifest["spec"]["paddleReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes"
    assert list(check_structure(schema(kubeflow), manifest)) == []


@pytest.mark.parametrize(
    ("api", "roles"),
    [(paddlepaddle, ("ps", "worker", "heter")), (kubeflow, ("master", "worker"))],
    ids=["paddle", "kf"],
)
def test_no_field_of_a_status_is_dropped(api: JobApi, roles: tuple[str, ...]) -> None:
    counts = dict.fromkeys(roles, Counts(9, 1, 2, 3, 4, 5))
    cause = CauseRecord("Reason", {"any": ["thing", {"at": "all"}]}, 1.0)
    status = Status(Phase.RUNNING, "PS", 1, 2, counts, cause, 3.0, 4.0, 5)
    assert list(check_structure(schema(api), {"status": api.write_status({}, status, 0.0)})) == []
