"""Jobs whose pods have native side-cars and probes, as users write them: how they end, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster

WAITS = "trap 'exit 3' TERM; while :; do sleep 0.05; done"


def build_job(name: str, data: Path, container: dict[str, Any], side_car: dict[str, Any]) -> dict[str, Any]:
    """A PyTorchJob of one rank. `data`: where both containers have a directory of the pod."""
    image, mount = "python:3.11", [{"name": "data", "mountPath": str(data)}]
    spec = {
        "volumes": [{"name": "data", "emptyDir": {}}],
        "initContainers": [
            {"name": "mount", "image": image, "restartPolicy": "Always", "volumeMounts": mount, **side_car}
        ],
        "containers": [{"name": "pytorch", "image": image, "volumeMounts": mount, **container}],
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": {"Master": {"restartPolicy": "Never", "template": {"spec": spec}}}},
    }


def test_a_job_is_completed_beside_a_side_car_that_is_ready_before_it(shared: Cluster, tmp_path: Path) -> None:
    data = tmp_path / "data"
    ready = {
        "exec": {"command": ["test", "-e", f"{data}/ready"]},
        "periodSeconds": 1,
        "timeoutSeconds": 60,
        "failureThreshold": 600,
    }
    side_car = {"command": ["sh", "-c", f"sleep 0.3; touch {data}/ready; {WAITS}"], "startupProbe": ready}
    job = build_job("bucket", data, {"command": ["sh", "-c", f"test -e {data}/ready && echo trained"]}, side_car)
    ended = shared.paddock("run", shared.write(job))
    assert (ended.code, ended.out) == (0, "trained\n"), str(ended)
    row = next(line for line in shared.paddock("get", "pods").lines if line.startswith("bucket-master-0 "))
    assert row.split()[1:3] == ["0/2", "Completed"]


@pytest.mark.slow
def test_a_rank_that_its_probe_ends_says_so(shared: Cluster, tmp_path: Path) -> None:
    dead = {
        "exec": {"command": ["sh", "-c", "echo it hangs; false"]},
        "periodSeconds": 1,
        "timeoutSeconds": 60,
        "failureThreshold": 1,
    }
    container = {"command": ["sh", "-c", "sleep 600"], "livenessProbe": dead}
    job = build_job("hanging", tmp_path / "data", container, {"command": ["sh", "-c", WAITS]})
    ended = shared.paddock("run", shared.write(job))
    said = "master-0 was ended, as its livenessProbe failed: it hangs (exit code 143)"
    assert (ended.code, said in ended.err) == (1, True), str(ended)
    assert said in shared.paddock("explain", "hanging").out
