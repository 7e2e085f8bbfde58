"""What a manifest asks for that only the local cluster can do: said before anything is sent, with what to do instead.

A manifest that trains on a laptop trains on a cluster as it is, so what does no harm there is a notice and no refusal:
an annotation that only the laptop reads. Refused is what could not work. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paddock.cli.submission import Checked
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.labels import ENVIRONMENT_ANNOTATION, WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job, Role
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.meta import ENVIRONMENTS, annotations_of

_OUTPUT_VARIABLES = re.compile(r"PADDOCK_(?:OUTPUT|CHECKPOINT)_DIR")
_PASSING = frozenset({"configMap", "secret", "downwardAPI", "projected", "emptyDir"})
"""Volumes in which nothing outlives a pod."""


def find_refusals(checked: Sequence[Checked]) -> list[Phrase]:
    """What could not work on any cluster, with its file."""
    return [phrase("{file}: {why}", file=each.file, why=why) for each in checked for why in _refusals(each)]


def _refusals(each: Checked) -> Iterator[Phrase]:
    if each.resource == ENVIRONMENTS:
        yield phrase(
            "an Environment stands for an image on the local cluster alone; on a cluster the image itself is run: "
            "leave it out"
        )
    if each.is_job and (directory := annotations_of(each.manifest).get(WORKING_DIRECTORY_ANNOTATION)):
        yield phrase(
            "the annotation {name} names a directory of this machine, which a cluster's nodes do not have: remove it, "
            "and --workdir {directory} sends the directory",
            name=WORKING_DIRECTORY_ANNOTATION, directory=directory,
        )  # fmt: skip


def find_notices(checked: Sequence[Checked]) -> list[Phrase]:
    """What is otherwise than on the laptop, and works."""
    return [said for each in checked if each.is_job for said in _notices(KINDS[each.resource].read_job(each.manifest))]


def _notices(job: Job) -> Iterator[Phrase]:
    for role in job.roles:
        metadata = role.template.get("metadata") or {}
        own = (metadata.get("annotations") or {}).get(ENVIRONMENT_ANNOTATION)
        if named := own or job.annotations.get(ENVIRONMENT_ANNOTATION):
            yield phrase(
                "{role}: the environment {name} is one of the local cluster; here the image {image} itself is run, "
                "which must have the same packages",
                role=role.name, name=named, image=str(_trained(job, role).get("image")),
            )  # fmt: skip
    if any(_OUTPUT_VARIABLES.search(text) for role in job.roles for text in _texts(_trained(job, role))):
        yield phrase(
            "PADDOCK_OUTPUT_DIR and PADDOCK_CHECKPOINT_DIR are not set on a cluster: mount a volume, for example a "
            "persistentVolumeClaim, and write there"
        )


def _trained(job: Job, role: Role) -> Mapping[str, Any]:
    containers: Sequence[Mapping[str, Any]] = role.template["spec"]["containers"]
    return containers[main_container(job, containers)]


def _texts(container: Mapping[str, Any]) -> Iterator[str]:
    yield from map(str, (*(container.get("command") or ()), *(container.get("args") or ())))
    yield from (str(entry.get("value") or "") for entry in container.get("env") or ())


def explain_outputs(job: Job) -> Phrase:
    """Where what the ranks write outlives them: the mounts of their lasting volumes."""
    if not (places := find_places(job)):
        return phrase("outputs: the job has no volume that outlives its pods, so what they wrote goes with them")
    return phrase("outputs: {path}", path=", ".join(places))


def find_places(job: Job) -> tuple[str, ...]:
    """`/mnt (persistentVolumeClaim data)` for each mount of a lasting volume."""
    return tuple(dict.fromkeys(said for role in job.roles for said in _lasting(job, role)))


def _lasting(job: Job, role: Role) -> Iterator[str]:
    volumes = {volume.get("name"): volume for volume in role.template["spec"].get("volumes") or ()}
    for mount in _trained(job, role).get("volumeMounts") or ():
        volume = volumes.get(mount.get("name")) or {}
        kind = next((key for key in volume if key != "name"), "")
        if kind and kind not in _PASSING and not mount.get("readOnly"):
            yield f"{mount.get('mountPath')} ({' '.join(filter(None, (kind, _name(volume[kind]))))})"


def _name(source: object) -> str:
    source = source if isinstance(source, Mapping) else {}
    return str(source.get("claimName") or source.get("path") or "")
