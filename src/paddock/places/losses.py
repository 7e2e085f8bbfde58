"""What a job asks for and a place does not do: one sentence each, told before anything is written. Pure.

A job "uses" an ability where its manifest says so, not by a default, so that a plain manifest gets no list of warnings.
A place that does the same in a way of its own has it; one that does it otherwise says so in `Platform.said`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, RestartPolicy
from paddock.kube.meta import Manifest
from paddock.places.rendering import Ability, Platform
from paddock.words.phrases import Names, Phrase, counted, phrase

Said = Phrase | str

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a place within a container
_LIMITED = ("cpu", "memory", "ephemeral-storage")
_NODES = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "nodeName")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_ACCOUNTS = ("serviceAccountName", "imagePullSecrets", "priorityClassName", "runtimeClassName", "securityContext")


def explain_losses(job: Job, place: Platform) -> tuple[Phrase, ...]:
    """A sentence for each ability that the job uses and `place` lacks."""
    told = []
    for ability, said in _LOSSES.items():
        found = None if ability in place.has else said(job, place.title)
        if found is not None:
            told.append(place.said.get(ability, found))
    return tuple(told)


def _restarts(job: Job, place: Said) -> Phrase | None:
    asked = [role.name for role in job.roles if role.restart is not RestartPolicy.NEVER]
    if not asked:
        return None
    return phrase(
        "restarts are lost: {place} does not start {roles} again after a failure, the job ends with it; its program "
        "goes on from its checkpoint when it is started again",
        place=place, roles=Names(tuple(asked)),
    )  # fmt: skip


def _deadline(job: Job, place: Said) -> Phrase | None:
    seconds = job.policies.active_deadline
    if seconds is None:
        return None
    return phrase(
        "the deadline is lost: {place} does not end the job after {seconds} s (activeDeadlineSeconds)",
        place=place, seconds=int(seconds),
    )  # fmt: skip


def _ttl(job: Job, place: Said) -> Phrase | None:
    if job.policies.ttl is None:
        return None
    return phrase("ttlSecondsAfterFinished is lost: nothing is removed on {place} when it has ended", place=place)


def _suspend(job: Job, place: Said) -> Phrase | None:
    if not job.policies.suspend:
        return None
    return phrase("suspend is lost: {place} has no job that waits, so what is started trains at once", place=place)


def _elastic(job: Job, place: Said) -> Phrase | None:
    elastic = job.launch.elastic
    if elastic is None:
        return None
    return phrase(
        "elasticPolicy is lost: on {place} the job has {count} ranks from its start to its end, not {least} to {most}",
        place=place, count=job.size, least=elastic.least, most=elastic.most,
    )  # fmt: skip


def _gang(job: Job, place: Said) -> Phrase | None:
    asked = job.scheduling
    if not (asked.queue or asked.priority_class or asked.min_available is not None):
        return None
    return phrase(
        "schedulingPolicy is lost: {place} has no queue for this job, and no priority between jobs", place=place
    )


def _image(job: Job, place: Said) -> Phrase | None:
    images = tuple(dict.fromkeys(str(each["image"]) for each in _trained(job) if each.get("image")))
    if not images:
        return None
    return counted(
        "the image {images} is not used on {place}: its Python packages must be on each machine",
        "the images {images} are not used on {place}: their Python packages must be on each machine",
        images=Names(images), place=place, count=len(images),
    )  # fmt: skip


def _resources(job: Job, place: Said) -> Phrase | None:
    limited = tuple(name for name in _amounts(job) if name in _LIMITED)
    if not limited:
        return None
    return phrase("limits of {names} are lost: {place} does not hold a rank to them", names=Names(limited), place=place)


def _devices(job: Job, place: Said) -> Phrase | None:
    devices = tuple(name for name in _amounts(job) if "/" in name)
    if not devices:
        return None
    return counted(
        "{names} is not counted on {place}: a rank sees the cards of its machine that its launcher is given",
        "{names} are not counted on {place}: a rank sees the cards of its machine that its launcher is given",
        names=Names(devices), place=place, count=len(devices),
    )  # fmt: skip


def _amounts(job: Job) -> list[str]:
    """The resources in requests and limits of what trains, ordered."""
    resources = [each.get("resources") or {} for each in _trained(job)]
    return sorted({str(name) for each in resources for key in ("requests", "limits") for name in each.get(key) or {}})


def _volumes(job: Job, place: Said) -> Phrase | None:
    paths = [
        mount["mountPath"]
        for spec, each in _specs(job)
        for mount in each.get("volumeMounts") or ()
        if mount["mountPath"].rstrip("/") != _SHARED_MEMORY and not _is_host_path(spec, mount)
    ]
    if not paths:
        return None
    return phrase(
        "volumes are not mounted on {place}: its files must be at {paths} on each machine",
        place=place, paths=Names(tuple(dict.fromkeys(paths))),
    )  # fmt: skip


def _is_host_path(spec: Manifest, mount: Mapping[str, Any]) -> bool:
    """Whether the machine has the volume at the same path already."""
    named = (each for each in spec.get("volumes") or () if each["name"] == mount["name"])
    path = next(((each.get("hostPath") or {}).get("path") for each in named), None)
    return bool(path == mount["mountPath"])


def _nodes(job: Job, place: Said) -> Phrase | None:
    asked = _fields(job, _NODES)
    if not asked:
        return None
    return counted(
        "{fields} is lost: which machine runs a rank is said by --hosts or by {place} itself",
        "{fields} are lost: which machine runs a rank is said by --hosts or by {place} itself",
        fields=Names(asked), place=place, count=len(asked),
    )  # fmt: skip


def _companions(job: Job, place: Said) -> Phrase | None:
    names = [
        str(each["name"])
        for role in job.roles
        for index, each in enumerate(role.template["spec"]["containers"])
        if index != main_container(job, role.template["spec"]["containers"])
    ]
    names += [str(each["name"]) for role in job.roles for each in role.template["spec"].get("initContainers") or ()]
    if not names:
        return None
    return counted(
        "the container {names} is not started on {place}, which runs the container that trains alone: what it prepares "
        "must be there before the start",
        "the containers {names} are not started on {place}, which runs the container that trains alone: what they "
        "prepare must be there before the start",
        names=Names(tuple(dict.fromkeys(names))), place=place, count=len(set(names)),
    )  # fmt: skip


def _probes(job: Job, place: Said) -> Phrase | None:
    asked = tuple(name for name in _PROBES if any(each.get(name) for each in _trained(job)))
    if not asked:
        return None
    return counted(
        "{fields} is lost: {place} looks at the end of a program alone",
        "{fields} are lost: {place} looks at the end of a program alone",
        fields=Names(asked), place=place, count=len(asked),
    )  # fmt: skip


def _account(job: Job, place: Said) -> Phrase | None:
    asked = _fields(job, _ACCOUNTS)
    if not asked:
        return None
    return counted(
        "{fields} is lost: {place} knows no such thing",
        "{fields} are lost: {place} knows no such things",
        fields=Names(asked), place=place, count=len(asked),
    )  # fmt: skip


def _fields(job: Job, names: tuple[str, ...]) -> tuple[str, ...]:
    specs = [role.template["spec"] for role in job.roles]
    return tuple(name for name in names if any(spec.get(name) for spec in specs))


def _trained(job: Job) -> list[Manifest]:
    return [container for _, container in _specs(job)]


def _specs(job: Job) -> list[tuple[Manifest, Manifest]]:
    """The pod's spec and the container that trains, of each role."""
    specs = [dict(role.template["spec"]) for role in job.roles if role.replicas]
    return [(spec, spec["containers"][main_container(job, spec["containers"])]) for spec in specs]


_LOSSES: Mapping[Ability, Callable[[Job, Said], Phrase | None]] = {
    Ability.RESTARTS: _restarts,
    Ability.DEADLINE: _deadline,
    Ability.TTL: _ttl,
    Ability.SUSPEND: _suspend,
    Ability.ELASTIC: _elastic,
    Ability.GANG: _gang,
    Ability.IMAGE: _image,
    Ability.RESOURCES: _resources,
    Ability.DEVICES: _devices,
    Ability.VOLUMES: _volumes,
    Ability.NODES: _nodes,
    Ability.COMPANIONS: _companions,
    Ability.PROBES: _probes,
    Ability.ACCOUNT: _account,
}
"""In the order in which they are told: what changes the run first."""
