"""The claim of `paddock.dev/outputs` in the spec of a job's pods, on a cluster. Pure.

Each rank has the directory of its run mounted (`<job>/<UID>` in the claim), and no other run's. A kubelet would make
that directory as root, and a program of another user could not write into it. So a container of the job's own image and
user comes first, which has the whole claim, makes the directories and moves the checkpoints of a run that is resumed
(`jobs.objects.outputs_program`). On a laptop the annotation changes nothing: each run has its directories there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from paddock.jobs.apis.outputs import OUTPUT_PATH
from paddock.jobs.first_containers import build_first, find_free
from paddock.jobs.frameworks import EnvVar
from paddock.jobs.labels import OUTPUTS_CONTAINER, RESUME_ANNOTATION
from paddock.jobs.model import Job, Settings
from paddock.jobs.names import OUTPUT_VOLUME
from paddock.jobs.objects.outputs_program import SHELL, read_program
from paddock.jobs.resuming import read_resume
from paddock.jobs.variables import CHECKPOINTS, OUTPUTS
from paddock.kube.meta import Manifest
from paddock.kube.times import format_time

CHECKPOINT_PATH = f"{OUTPUT_PATH}/checkpoint"
_CLAIM_PATH = "/paddock/claim"


def find_claim(job: Job, settings: Settings) -> str:
    """The claim that the pods of a job mount for what they write; empty without one, and on a laptop."""
    return job.outputs if settings.output_root is None else ""


def run_path(job: Job) -> str:
    """The directory of the run in its claim: a name may be used again, a UID is not."""
    return f"{job.key.name}/{job.uid}"


def build_variables(said: Collection[str]) -> list[EnvVar]:
    """Those of the container that trains, but for what it says itself (`said`)."""
    places = {OUTPUTS: OUTPUT_PATH, CHECKPOINTS: CHECKPOINT_PATH}
    return [{"name": name, "value": place} for name, place in places.items() if name not in said]


def mount_outputs(job: Job, spec: Mapping[str, Any], main: int, claim: str) -> Manifest:
    """The spec of a pod with the claim, if there is one, in the container that trains, which is number `main`."""
    if not claim:
        return dict(spec)
    volume = find_free(OUTPUT_VOLUME, spec.get("volumes") or ())
    containers = list(spec["containers"])
    mounts = containers[main].get("volumeMounts") or ()
    mount = {"name": volume, "mountPath": OUTPUT_PATH, "subPath": run_path(job)}
    first = _build_first(job, claim, volume, containers[main], [*(spec.get("initContainers") or ()), *containers])
    containers[main] = {**containers[main], "volumeMounts": [*mounts, mount]}
    return {
        **spec,
        "volumes": [*(spec.get("volumes") or ()), {"name": volume, "persistentVolumeClaim": {"claimName": claim}}],
        "initContainers": [first, *(spec.get("initContainers") or ())],
        "containers": containers,
    }


def _build_first(job: Job, claim: str, volume: str, trained: Mapping[str, Any], others: Collection[Any]) -> Manifest:
    words = (
        _CLAIM_PATH,
        job.key.name,
        job.uid,
        f"{job.resource.kind}.{job.resource.group}",
        format_time(job.created) if job.created is not None else "",
        job.annotations[RESUME_ANNOTATION] if read_resume(job.annotations) is not None else "",
        claim,
    )
    first = build_first(
        OUTPUTS_CONTAINER, trained, others, ["sh", "-c", SHELL, OUTPUTS_CONTAINER, read_program(), *words]
    )
    return {**first, "volumeMounts": [{"name": volume, "mountPath": _CLAIM_PATH}]}
