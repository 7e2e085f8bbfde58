"""The jobs of a fleet: PaddleJobs of workers alone, and PyTorchJobs of one Master and the others as Workers; and of
both kinds those whose number of workers may change, 1 to `MOST`.

All ranks meet by name, so that each has its Service: a job of either kind is as many objects as one of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.kube.meta import Manifest, Resource

NAMESPACE = "default"
MOST = 8
"""Workers of an elastic job."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`build_spec` and `list_ranks` take the number of pods; a rank is the end of its pod's name. `made_anew`: whether
    another size is a new attempt of all pods."""

    api: JobApi
    container: str
    build_spec: Callable[[Manifest, int], Manifest]
    list_ranks: Callable[[int], list[str]]
    annotations: Mapping[str, str] = field(default_factory=dict)
    launcher: str = "python"

    @property
    def resource(self) -> Resource:
        return self.api.resource

    @property
    def made_anew(self) -> bool:
        return self.launcher != "torchrun"

    def build_job(self, name: str, pods: int) -> Manifest:
        resources = {"limits": {"cpu": "1", "memory": "1Gi"}}
        command = [self.launcher, "train.py"]
        container = {"name": self.container, "image": "train:test", "command": command, "resources": resources}
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": dict(self.annotations)},
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


def _build_torchrun(template: Manifest, pods: int) -> Manifest:
    return {
        "elasticPolicy": {"minReplicas": 1, "maxReplicas": MOST, "rdzvBackend": "c10d"},
        "pytorchReplicaSpecs": {"Worker": {"replicas": pods, "restartPolicy": "OnFailure", "template": template}},
    }


def _list_workers(pods: int) -> list[str]:
    return [f"worker-{number}" for number in range(pods)]


SHAPES = {
    "paddle": Shape(PADDLEPADDLE, "paddle", _build_paddle, _list_workers),
    "elastic-paddle": Shape(
        PADDLEPADDLE, "paddle", _build_paddle, _list_workers, annotations={"paddock.dev/elastic": f"1-{MOST}"}
    ),
    "elastic-pytorch": Shape(KUBEFLOW_PYTORCH, "pytorch", _build_torchrun, _list_workers, launcher="torchrun"),
    "pytorch": Shape(
        KUBEFLOW_PYTORCH,
        "pytorch",
        _build_pytorch,
        lambda pods: ["master-0", *_list_workers(pods - 1)],
    ),
}
