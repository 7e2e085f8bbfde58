"""What is told of the probes, hooks and side-cars of a job."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddock.manifests.documents import read_documents
from paddock.preflight import check, format_problem

EXEC = {"exec": {"command": ["true"]}}
BASE = "spec.pytorchReplicaSpecs.Master.template.spec"
C, INIT = f"{BASE}.containers[0]", f"{BASE}.initContainers[0]"


def read(container: dict[str, Any], init: dict[str, Any], **pod: Any) -> list[str]:
    """The problems of a job with these fields of its container, and of an init container if it has any."""
    spec = {**pod, "containers": [{"name": "pytorch", "image": "x:1", "command": ["python", "a.py"], **container}]}
    if init:
        spec["initContainers"] = [{"name": "s", "image": "x:1", **init}]
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "cares"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": spec}}}},
    }
    (document,) = read_documents(yaml.safe_dump(manifest))
    return [format_problem(each, "f").partition(": ")[2] for each in check(document)]


@pytest.mark.parametrize(
    ("container", "init"),
    [
        ({}, {"restartPolicy": "Always", "startupProbe": EXEC, "lifecycle": {"postStart": EXEC}}),
        ({"readinessProbe": {"httpGet": {"port": "web"}}, "lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}, {}),
    ],
)
def test_nothing_is_told_of_what_kubernetes_takes(container: dict[str, Any], init: dict[str, Any]) -> None:
    assert read(container, init) == []


@pytest.mark.parametrize(
    ("container", "init", "said"),
    [
        ({"livenessProbe": {"periodSeconds": 3}}, {},
         f"{C}.livenessProbe: has nothing to do: exec, httpGet, tcpSocket or grpc is wanted"),
        ({"livenessProbe": {**EXEC, "httpGet": {"port": 1}}}, {},
         f"{C}.livenessProbe.httpGet: exec stands beside it: one of the two is allowed"),
        ({"livenessProbe": {**EXEC, "successThreshold": 3}}, {},
         f"{C}.livenessProbe.successThreshold: found 3, 1 is allowed"),
        ({"readinessProbe": {"tcpSocket": {"port": 70000}}}, {},
         f"{C}.readinessProbe.tcpSocket.port: found 70000, a whole number from 1 to 65535 is allowed"),
        ({"readinessProbe": {"httpGet": {"port": 1, "scheme": "https"}}}, {},
         f'{C}.readinessProbe.httpGet.scheme: found "https", HTTP or HTTPS is allowed; did you mean "HTTPS"?'),
        ({"readinessProbe": {**EXEC, "terminationGracePeriodSeconds": 3}}, {},
         f"{C}.readinessProbe.terminationGracePeriodSeconds: is of the other two probes: a readinessProbe ends "
         "nothing"),
        ({"startupProbe": {**EXEC, "failureThreshold": -1}}, {},
         f"{C}.startupProbe.failureThreshold: found -1, a whole number from 0 is allowed"),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}, {},
         f"{C}.lifecycle.preStop.sleep: found 31, at most the grace of the pod, 30 s, is allowed"),
        ({}, {"startupProbe": EXEC},
         f"{INIT}.startupProbe: is of containers that run on: an init container may have it with restartPolicy: Always "
         "alone, which makes a side-car of it"),
        ({}, {"restartPolicy": "OnFailure"},
         f"warning: {INIT}.restartPolicy: Always, which makes a side-car of an init container, is what Kubernetes "
         "before 1.35 and a laptop allow here"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_where_it_stands(container: dict[str, Any], init: dict[str, Any], said: str) -> None:
    (found,) = read(container, init)
    assert found.endswith(said), found
