"""The jobs of the simulation as their users write them: of batch.paddlepaddle.org, and of kubeflow.org."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import Job, Status
from paddock.kube.meta import Key, Manifest, Resource

KEY = Key("team", "demo")
"""Of the one job that there is."""

APIS: Mapping[str, JobApi] = {"PaddleJob": PADDLEPADDLE, "PyTorchJob": KUBEFLOW_PYTORCH}
KINDS: Mapping[Resource, JobApi] = {api.resource: api for api in APIS.values()}

CLEAN = ("Always", "Never", "OnFailure", "OnCompletion", "Running")
_KUBEFLOW_CLEAN = {"Always": "All", "Never": "None"}

WRONG = {"containers": []}
"""A pod's spec that no job is read from."""

THEIR_KEYS = {
    "PaddleJob": frozenset({
        "phase", "mode", "ps", "worker", "heter", "startTime", "completionTime", "observedGeneration",
    }),
    "PyTorchJob": frozenset({
        "conditions", "replicaStatuses", "startTime", "completionTime", "lastReconcileTime",
    }),
}  # fmt: skip
"""The keys of `.status` that the Go types of paddle-operator and of training-operator have."""


@dataclass(frozen=True, slots=True)
class Start:
    """What is chosen once. Numbers, so that anybody can choose. `ps`: of a PyTorchJob, its Master."""

    kind: str = "PaddleJob"
    ps: int = 0
    workers: int = 2
    never: bool = False
    limit: int | None = None
    clean: str = "OnCompletion"
    deadline: int | None = None
    ttl: int | None = None
    intranet: str = "PodIP"
    gangs: bool = False
    shared: bool = False

    @property
    def api(self) -> JobApi:
        return APIS[self.kind]


def choose_start(random: Random) -> Start:
    return Start(
        ps=random.randint(0, 1),
        workers=random.randint(1, 2),
        never=random.random() < 0.2,
        limit=random.choice([0, 1, 2, None]),
        clean=random.choice(CLEAN),
        deadline=random.choice([None, None, 300]),
        ttl=random.choice([None, None, None, 100]),
        intranet=random.choice(["PodIP", "PodIP", "Service"]),
        gangs=random.random() < 0.3,
        shared=random.random() < 0.5,
        kind="PyTorchJob" if random.random() < 0.2 else "PaddleJob",
    )


def read_job(manifest: Manifest) -> Job:
    """Raises `InvalidJob`."""
    return APIS[manifest["kind"]].read_job(manifest)


def read_status(manifest: Manifest) -> Status:
    return APIS[manifest["kind"]].read_status(manifest)


def build_manifest(start: Start) -> Manifest:
    limits = {
        "backoffLimit": start.limit,
        "activeDeadlineSeconds": start.deadline,
        "ttlSecondsAfterFinished": start.ttl,
    }
    policy: Manifest = {name: value for name, value in limits.items() if value is not None}
    is_torch = start.kind == "PyTorchJob"
    policy["cleanPodPolicy"] = _KUBEFLOW_CLEAN.get(start.clean, "Running") if is_torch else start.clean
    spec: Manifest = {"runPolicy": policy} if is_torch else {"runPolicy": policy, "intranet": start.intranet}
    restart = "Never" if start.never else "OnFailure"
    for role, replicas in (("ps", start.ps), ("worker", start.workers)):
        if not replicas:
            continue
        template: Manifest = {"spec": build_pod_spec(start)}
        if not is_torch:
            template["spec"]["restartPolicy"] = restart
        described = {"replicas": replicas, "template": template} | ({"restartPolicy": restart} if is_torch else {})
        spec |= _merge(spec, build_role(start, role, described))
    return {
        "apiVersion": start.api.resource.api_version,
        "kind": start.kind,
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": spec,
    }


def build_role(start: Start, role: str, described: Manifest) -> Manifest:
    """A part of `spec` that says this of a role."""
    if start.kind == "PaddleJob":
        return {role: described}
    return {"pytorchReplicaSpecs": {{"ps": "Master", "worker": "Worker"}[role]: described}}


def build_pod_spec(start: Start) -> dict[str, Any]:
    name = "paddle" if start.kind == "PaddleJob" else "pytorch"
    return {"containers": [{"name": name, "image": "paddle:3", "command": ["python", "train.py"]}]}


def _merge(spec: Manifest, part: Manifest) -> Manifest:
    """`part`, with what `spec` already has of its replica specs."""
    return {
        key: {**spec[key], **value} if key in spec and key == "pytorchReplicaSpecs" else value
        for key, value in part.items()
    }
