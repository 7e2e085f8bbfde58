"""`paddock describe` of a job that Kubernetes took and the operator cannot read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.cluster.places import Cluster, Local
from paddock.cli.verbs.describe import Description, build_description, build_document
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.views.flags import LOCAL
from paddock.views.rooms import NO_ROOMS
from paddock.views.stored import read_stored
from paddock.words.phrases import phrase


def test_a_job_that_cannot_be_read_is_described_all_the_same() -> None:
    status = {"phase": "Running", "cause": {"reason": "InvalidJob", "args": {"problems": ["spec.worker.replicas: 0"]}}}
    place: Any = Local(home=None)  # type: ignore[arg-type]
    lines = build_description(read_stored(RESOURCE, build_manifest(workers=0) | {"status": status}), place)
    assert lines[2:4] == [
        "Status:    Running",
        "Why:       waiting: the manifest is wrong: spec.worker.replicas: 0; edit the job",
    ]


def test_another_manager_is_named_and_is_not_why_a_job_is_deleted() -> None:
    status = {"phase": "Pending", "cause": {"reason": "Deleting", "args": {}}}
    manifest = build_manifest(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}) | {"status": status}
    place: Any = Cluster(config=None, flags=LOCAL)  # type: ignore[arg-type]
    lines = build_description(read_stored(RESOURCE, manifest), place)
    assert "Manager:   kueue.x-k8s.io/multikueue" in lines
    assert "Why:       being deleted, together with its pods" in lines


def test_json_has_the_values_and_the_lines_of_the_text() -> None:
    status = {"phase": "Running", "cause": {"reason": "InvalidJob", "args": {"problems": ["spec.worker.replicas: 0"]}}}
    place: Any = Local(home=None)  # type: ignore[arg-type]
    stored = read_stored(RESOURCE, build_manifest(workers=2) | {"status": status})
    pod = {"metadata": {"name": "demo-worker-0", "namespace": "default"}, "spec": {"containers": [{"name": "c"}]},
           "status": {"phase": "Running", "podIP": "127.0.0.2"}}  # fmt: skip
    event = {"lastTimestamp": "2026-01-01T00:00:00Z", "type": "Normal", "reason": "Created", "message": "m", "count": 2}
    document = build_document(
        Description(stored, [pod], [event], NO_ROOMS, place, [phrase("{said}", said="odd")]), "en"
    )
    assert json.loads(json.dumps(document)) == document
    told = [f"{each['about']}:" for each in document["facts"]]
    assert told == [*(line.split()[0] for line in build_description(stored, place)), "Doubt:"]
    assert (document["name"], document["phase"], document["cause"]["reason"]) == ("demo", "Running", "InvalidJob")
    assert document["pods"][0]["ip"] == "127.0.0.2" and document["events"][0]["count"] == 2
    assert build_document(Description(stored, [], None, NO_ROOMS, place, []), "en")["events"] is None


@pytest.mark.parametrize(
    ("spec", "launch"),
    [
        ({}, "nprocPerNode auto"),
        ({"nprocPerNode": "2", "elasticPolicy": {"minReplicas": 1}}, "nprocPerNode 2, elasticPolicy 1:1"),
    ],
)
def test_how_the_processes_of_a_pytorch_job_are_started_is_described(spec: dict[str, Any], launch: str) -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "torch", "command": ["torchrun", "a.py"]}]}}
    manifest = build_manifest() | {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}, **spec}}
    place: Any = Local(home=None)  # type: ignore[arg-type]
    assert f"Launch:    {launch}" in build_description(read_stored(KUBEFLOW_PYTORCH.resource, manifest), place)
