"""The persistent volumes to which the ranks of a job write, from its manifest. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, Role
from paddock.jobs.variables import OUTPUTS

_EPHEMERAL = frozenset({"configMap", "secret", "downwardAPI", "projected", "emptyDir"})
"""Kinds of volumes whose content is deleted with the pod."""


def find_places(job: Job) -> tuple[str, ...]:
    """`/mnt (persistentVolumeClaim data)` for each mount of a persistent volume."""
    return tuple(dict.fromkeys(said for role in job.roles for said in _lasting(job, role)))


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


def read_own_directory(spec: object) -> str:
    """The absolute path that a job's containers set PADDOCK_OUTPUT_DIR to themselves, if they agree; else empty.

    `spec`: of a job of any kind. A value that refers to another variable (`$(NAME)`) is none.
    """
    found = set(_values_of(OUTPUTS, spec))
    path = found.pop() if len(found) == 1 else ""
    return path if path.startswith("/") and "$(" not in path else ""


def _values_of(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.get("name") == name and "value" in value:
            yield str(value["value"])
        for each in value.values():
            yield from _values_of(name, each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _values_of(name, each)
