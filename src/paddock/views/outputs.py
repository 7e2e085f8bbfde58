"""The persistent volumes to which the ranks of a job write, from its manifest. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paddock.jobs.apis.outputs import OUTPUT_PATH
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, Role

_EPHEMERAL = frozenset({"configMap", "secret", "downwardAPI", "projected", "emptyDir"})
"""Kinds of volumes whose content is deleted with the pod."""


def find_places(job: Job) -> tuple[str, ...]:
    """`/mnt (persistentVolumeClaim data)` for each mount of a persistent volume."""
    claimed = [f"{OUTPUT_PATH} (persistentVolumeClaim {job.outputs})"] if job.outputs else []
    return tuple(dict.fromkeys([*claimed, *(said for role in job.roles for said in _lasting(job, role))]))


def _lasting(job: Job, role: Role) -> Iterator[str]:
    volumes = {volume.get("name"): volume for volume in role.template["spec"].get("volumes") or ()}
    for mount in trained_container(job, role).get("volumeMounts") or ():
        volume = volumes.get(mount.get("name")) or {}
        kind = next((key for key in volume if key != "name"), "")
        if kind and kind not in _EPHEMERAL and not mount.get("readOnly"):
            yield f"{mount.get('mountPath')} ({' '.join(filter(None, (kind, _name(volume[kind]))))})"


def _name(source: object) -> str:
    source = source if isinstance(source, Mapping) else {}
    return str(source.get("claimName") or source.get("path") or "")


def trained_container(job: Job, role: Role) -> Mapping[str, Any]:
    """The container of the role's pods that runs the training program."""
    containers: Sequence[Mapping[str, Any]] = role.template["spec"]["containers"]
    return containers[main_container(job, containers)]
