"""The pod that a typed command trains in, whatever the framework. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paddock.kube.meta import Manifest
from paddock.script.escapes import Variable, write_word
from paddock.script.names import build_secret_name
from paddock.script.request import ScriptRequest
from paddock.script.variables import build_variables

GPU = "nvidia.com/gpu"
_SHARED_MEMORY = "dshm"
"""The name of the volume at /dev/shm, as PaddlePaddle's and Kubeflow's examples have it."""


def build_pod(
    request: ScriptRequest, container: str, job: str, image: str, words: Sequence[str | Variable], *, gpus: int
) -> Manifest:
    """The spec of a pod. `container`: its name. `image`: of a request that names none. `words`: the command, as it is
    meant. With GPUs all of the node's memory is at /dev/shm: a container has 64 MiB there, and NCCL and the workers of
    a DataLoader transfer their data through it."""
    trained = _build_container(request, container, job, image, words, gpus)
    if not gpus:
        return {"containers": [trained]}
    trained["volumeMounts"] = [{"name": _SHARED_MEMORY, "mountPath": "/dev/shm"}]  # noqa: S108 - in a container
    return {"containers": [trained], "volumes": [{"name": _SHARED_MEMORY, "emptyDir": {"medium": "Memory"}}]}


def _build_container(
    request: ScriptRequest, container: str, job: str, image: str, words: Sequence[str | Variable], gpus: int
) -> Manifest:
    command = [write_word(word) for word in words]
    built: dict[str, Any] = {"name": container, "image": request.image or image, "command": command}
    if entries := build_variables(request.variables, build_secret_name(job), [key for key, _ in request.secrets]):
        built["env"] = entries
    if resources := _build_resources(request, gpus):
        built["resources"] = resources
    return built


def _build_resources(request: ScriptRequest, gpus: int) -> Manifest:
    """A limit of memory is what is asked for: what a rank has beyond it may be taken away at any time, by ending it. A
    limit of CPUs would only slow a rank down beside idle ones, so none is written."""
    memory = {"memory": request.memory} if request.memory else {}
    requests = ({"cpu": request.cpus} if request.cpus else {}) | memory
    limits = memory | ({GPU: gpus} if gpus else {})
    return {name: amounts for name, amounts in (("requests", requests), ("limits", limits)) if amounts}


def with_defaults(request: ScriptRequest, *defaults: tuple[str, str]) -> ScriptRequest:
    """The request with variables that the user has not set."""
    given = {name for name, _ in (*request.variables, *request.secrets)}
    return replace(request, variables=(*(each for each in defaults if each[0] not in given), *request.variables))
