"""The jobs of a fleet: PaddleJobs of workers alone, and PyTorchJobs of one Master and the others as Workers.

All ranks meet by name, so that each has its Service: a job of either kind is as many objects as one of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.kube.meta import Manifest, Resource

NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Shape:
    """`build_spec` and `list_ranks` take the number of pods; a rank is the end of its pod's name."""

    api: JobApi
    container: str
    build_spec: Callable[[Manifest, int], Manifest]
    list_ranks: Callable[[int], list[str]]

    @property
    def resource(self) -> Resource:
        return self.api.resource

    def build_job(self, name: str, pods: int) -> Manifest:
        resources = {"limits": {"cpu": "1", "memory": "1Gi"}}
        command = ["python", "train.py"]
        container = {"name": self.container, "image": "train:test", "command": command, "resources": resources}
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": self.build_spec({"spec": {"containers": [container]}}, pods),
        }

    def list_pods(self, name: str, pods: int) -> list[str]:
        return [f"{name}-{rank}" for rank in self.list_ranks(pods)]


def _build_paddle(template: Manifest, pods: int) -> Manifest:
    return {"intranet": "Service", "worker": {"replicas": pods, "template": template}}


def _build_pytorch(template: Manifest, pods: int) -> Manifest:
    return {
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": template},
            "Worker": {"replicas": pods - 1, "template": template},
        }
    }


SHAPES = {
    "paddle": Shape(PADDLEPADDLE, "paddle", _build_paddle, lambda pods: [f"worker-{n}" for n in range(pods)]),
    "pytorch": Shape(
        KUBEFLOW_PYTORCH,
        "pytorch",
        _build_pytorch,
        lambda pods: ["master-0", *(f"worker-{n}" for n in range(pods - 1))],
    ),
}
