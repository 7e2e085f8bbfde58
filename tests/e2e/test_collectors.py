"""A container beside the program that has work left when the program has ended, as the metrics collector of Katib."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.commands import Cluster, until

_TRAINS = "echo accuracy=0.91 >/var/log/katib/metrics.log && echo completed >/var/log/katib/1.pid"
_COLLECTS = """
until [ -e /var/log/katib/1.pid ]; do sleep 0.1; done
until [ -e {go} ]; do sleep 0.1; done
cp /var/log/katib/metrics.log {go}/reported
"""


def build(name: str, collects: str, **annotations: str) -> dict[str, Any]:
    """The form in which Katib puts its collector into a trial."""
    volumes = [{"name": "metrics-volume", "mountPath": "/var/log/katib"}]
    containers = [
        {"name": who, "image": "busybox", "command": ["sh", "-c", script], "volumeMounts": volumes}
        for who, script in (("pytorch", _TRAINS), ("metrics-logger-and-collector", collects))
    ]
    spec = {"containers": containers, "volumes": [{"name": "metrics-volume", "emptyDir": {}}]}
    role = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {**spec, "shareProcessNamespace": True}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"pytorchReplicaSpecs": {"Master": role}},
    }


def explain(cluster: Cluster, name: str) -> str:
    return cluster.paddock("explain", name).out


def test_a_collector_reports_after_the_program_has_ended(shared: Cluster) -> None:
    go = shared.home / "katib"
    job = build("katib", _COLLECTS.format(go=go))
    volumes = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["volumes"]
    volumes.append({"name": "go", "hostPath": {"path": str(shared.home)}})
    collector = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][1]
    collector["volumeMounts"] = [*collector["volumeMounts"], {"name": "go", "mountPath": str(shared.home)}]
    shared.paddock("submit", shared.write(job))
    said = "container metrics-logger-and-collector of master-0 still runs, and is waited for, at most 30s"
    until("it is waited for", lambda: said in explain(shared, "katib"))
    go.mkdir()
    until("it is completed", lambda: "completed: 1 rank succeeded" in explain(shared, "katib"))
    assert (go / "reported").read_text() == "accuracy=0.91\n"


@pytest.mark.slow
def test_one_that_never_ends_is_ended_and_named(shared: Cluster) -> None:
    job = build("proxied", "sleep 1000", **{"paddock.dev/success": "AllRanks:1"})
    shared.paddock("submit", shared.write(job))
    said = "container metrics-logger-and-collector of master-0 still ran 1s later, and was ended"
    until("it is completed", lambda: said in explain(shared, "proxied"))
