"""A kind of kubeflow.org is a value: a second one, defined here, has all features of the first, with its own names."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.anything import merged
from jobs.samples import read_manifest
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.kubeflow import KubeflowJob
from paddock.jobs.apis.kubeflow_replicas import ReplicaType
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_PADDLE
from paddock.jobs.launch import Launch
from paddock.jobs.model import CauseRecord, Counts, Phase, RestartPolicy, Status
from paddock.kube.meta import Manifest, Resource
from paddock.manifests.structure import check_structure
from paddock.words.phrases import phrase
from paddock.words.problems import InvalidJob

OTHER = KubeflowJob(
    kind="OtherJob",
    replica_specs="otherReplicaSpecs",
    replica_types=(
        ReplicaType("Chief", "chief", is_master=True, restart=RestartPolicy.EXIT_CODE),
        ReplicaType("Worker", "worker"),
    ),
    framework="paddle",
    needs=phrase("a mapping with Chief"),
    own_fields=dict,
    read_launch=lambda spec, roles: Launch(),
)


def base() -> Manifest:
    """A job of one chief and two workers."""
    manifest = read_manifest("kubeflow_distributed")
    worker = manifest["spec"].pop("paddleReplicaSpecs")["Worker"]
    worker.pop("restartPolicy", None)
    manifest["spec"]["otherReplicaSpecs"] = {"Chief": worker | {"replicas": 1}, "Worker": worker | {"replicas": 2}}
    return manifest | {"kind": "OtherJob"}


def test_it_is_a_resource_beside_the_first() -> None:
    api: JobApi = OTHER
    assert api.resource == Resource("kubeflow.org", "v1", "OtherJob", "otherjobs")
    assert api.resource not in KINDS


def test_its_manifest_is_read_by_its_own_roles() -> None:
    job = OTHER.read_job(base())
    assert (job.resource, job.framework, job.warnings) == (OTHER.resource, "paddle", ())
    assert [(role.name, role.replicas, role.restart, role.decides) for role in job.roles] == [
        ("chief", 1, RestartPolicy.EXIT_CODE, True),
        ("worker", 2, RestartPolicy.ON_FAILURE, False),
    ]


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        ({}, "spec.otherReplicaSpecs", "is missing: a mapping with Chief is needed"),
        ({"Master": {}}, "spec.otherReplicaSpecs.Master", 'found "Master", Chief or Worker is allowed'),
    ],
)
def test_its_problems_name_its_own_fields(spec: dict[str, Any], path: str, message: str) -> None:
    manifest = base()
    manifest["spec"] = {"otherReplicaSpecs": spec} if spec else {}
    with pytest.raises(InvalidJob) as caught:
        OTHER.read_job(manifest)
    assert {problem.path: problem.message for problem in caught.value.problems} == {path: message}


def test_a_manifest_of_the_one_is_none_of_the_other() -> None:
    for api, manifest in ((KUBEFLOW_PADDLE, base()), (OTHER, read_manifest("kubeflow_distributed"))):
        with pytest.raises(InvalidJob):
            api.read_job(manifest)


def test_its_status_has_its_own_roles_and_reasons_and_reads_back() -> None:
    cause = CauseRecord("PodsStarting", {"starting": 1, "wanted": 3}, 0.0)
    status = Status(Phase.RUNNING, roles={"chief": Counts(1, running=1), "worker": Counts(2, running=2)}, cause=cause)
    written = OTHER.write_status({}, status, 5.0)
    assert [condition["reason"] for condition in written["conditions"]] == ["OtherJobCreated", "OtherJobRunning"]
    assert written["replicaStatuses"] == {
        "Chief": {"ready": "1/1", "active": 1},
        "Worker": {"ready": "2/2", "active": 2},
    }
    assert OTHER.read_status({"status": merged({}, written)}) == status
    assert list(check_structure(OTHER.build_schema(), {"status": written})) == []


def test_a_status_of_kubeflows_operator_is_read_with_the_numbers_of_its_own_spec() -> None:
    raw = {"conditions": [{"type": "Running", "status": "True"}], "replicaStatuses": {"Worker": {"active": 1}}}
    assert OTHER.read_status(base() | {"status": raw}).roles == {"worker": Counts(2, running=1)}
