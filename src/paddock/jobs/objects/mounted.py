"""The Datasets of a job in the spec of its pods: a volume for each, mounted read-only into all containers. Pure.

A pod mounts the claim of a Dataset, on a laptop and on a cluster alike (`paddock.kube.datasets`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from paddock.jobs.model import Job, Role
from paddock.jobs.names import dataset_volume_name
from paddock.kube.datasets import claim_name
from paddock.kube.meta import Manifest


def mount_datasets(job: Job, spec: Mapping[str, Any], claims: Mapping[str, str]) -> Manifest:
    """The spec with the volumes of the job's mounts. `claims`: by Dataset the claim of one whose source is a claim;
    that of any other has its name."""
    if not job.mounts:
        return dict(spec)
    volumes = list(spec.get("volumes") or ())
    taken = {str(volume.get("name")) for volume in volumes}
    names: dict[str, str] = {}
    for dataset in dict.fromkeys(mount.dataset for mount in job.mounts):
        names[dataset] = _choose_name(dataset, taken)
        taken.add(names[dataset])
        claim = claims.get(dataset) or claim_name(dataset)
        source = {"claimName": claim, "readOnly": True}
        volumes.append({"name": names[dataset], "persistentVolumeClaim": source})
    # One within another comes after it, whatever the order of the annotation: it would be hidden else.
    ordered = sorted(job.mounts, key=lambda mount: mount.path)
    mounts = [{"name": names[each.dataset], "mountPath": each.path, "readOnly": True} for each in ordered]
    changed: Manifest = {**spec, "volumes": volumes}
    for section in ("initContainers", "containers"):
        if spec.get(section):
            changed[section] = [_with_mounts(container, mounts) for container in spec[section]]
    return changed


def write_volumes(job: Job) -> Job:
    """The same job with its Datasets as volumes of its templates, for a place that knows no Datasets: it treats them as
    it treats any claim."""

    def write(role: Role) -> Role:
        spec = mount_datasets(job, role.template.get("spec") or {}, {})
        return replace(role, template={**role.template, "spec": spec})

    return replace(job, roles=tuple(map(write, job.roles)), mounts=()) if job.mounts else job


def _with_mounts(container: Mapping[str, Any], mounts: list[Manifest]) -> Manifest:
    return {**container, "volumeMounts": [*(container.get("volumeMounts") or ()), *mounts]}


def _choose_name(dataset: str, taken: Collection[str]) -> str:
    """The template may have a volume of the same name."""
    number, name = 1, dataset_volume_name(dataset)
    while name in taken:
        number += 1
        name = dataset_volume_name(dataset, number)
    return name
