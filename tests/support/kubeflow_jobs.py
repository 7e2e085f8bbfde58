"""Jobs of kubeflow.org for tests in both worlds: their manifests, and what kubelets say of their pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import PODS, Manifest, Resource
from support.worlds import World

STARTED = "2026-08-19T08:00:00Z"
ENDED = "2026-08-19T09:00:00Z"
FIELDS = {"PyTorchJob": "pytorchReplicaSpecs", "PaddleJob": "paddleReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}
CONTAINERS = {"PyTorchJob": "pytorch", "PaddleJob": "paddle", "JAXJob": "jax"}


def kind_of(kind: str) -> Resource:
    return next(each for each in KINDS if (each.group, each.kind) == ("kubeflow.org", kind))


def build_job(
    kind: str, world: World, name: str = "demo", *, policy: Mapping[str, Any] | None = None, **types: Any
) -> Manifest:
    """`types`: replica type -> number of replicas, or what its replica spec shall have beside the template. `policy`:
    runPolicy; None for none, as in the users' files."""
    specs = {}
    for type_, said in types.items():
        more = {"replicas": said} if isinstance(said, int) else said
        container = {"name": CONTAINERS[kind], "image": "train:test", "command": ["python", "train.py"]}
        template = {"spec": {"containers": [container]}}
        specs[type_] = {"restartPolicy": "OnFailure", "template": template, **more}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {FIELDS[kind]: specs} | ({} if policy is None else {"runPolicy": dict(policy)}),
    }


async def say(
    world: World,
    pod: str,
    phase: str,
    code: int = 0,
    *,
    container: str = "pytorch",
    restarts: int = 0,
    state: Any = None,
) -> None:
    """Writes what a kubelet says of a pod with one container. `state`: the container's, where the phase does not say
    it."""
    if state is None:
        state = {"running": {"startedAt": STARTED}}
        if phase in ("Succeeded", "Failed"):
            reason = "Error" if code else "Completed"
            state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": ENDED}}
    ready = phase == "Running" and "running" in state
    one = {"name": container, "ready": ready, "state": state, "image": "x", "imageID": "x", "restartCount": restarts}
    status = {"phase": phase, "podIP": "10.244.0.9", "startTime": STARTED, "containerStatuses": [one]}
    await world.api.patch(PODS, world.namespace, pod, {"status": status}, subresource="status")
