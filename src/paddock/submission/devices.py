"""The devices (extended resources, as nvidia.com/gpu) that jobs ask for and nodes have. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from paddock.jobs.model import Job
from paddock.jobs.substitutions import without
from paddock.kube.meta import Manifest
from paddock.kube.nearness import nearest
from paddock.kube.quantities import read_amounts
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import perhaps


def read_devices(jobs: Iterable[Job]) -> dict[str, Fraction]:
    """How many of each device (extended resource: `nvidia.com/gpu`) the jobs' pods ask for together."""
    asked: dict[str, Fraction] = {}
    for job in jobs:
        for role in job.roles:
            for container in (role.template.get("spec") or {}).get("containers") or ():
                for name, amount in _amounts(container).items():
                    if "/" in name:
                        asked[name] = asked.get(name, Fraction(0)) + amount * role.replicas
    return asked


def _amounts(container: Mapping[str, Any]) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    return read_amounts(resources.get("requests")) | read_amounts(resources.get("limits"))


def find_lacking(jobs: Iterable[Job], nodes: Iterable[Manifest]) -> list[str]:
    """The devices that the jobs ask for and no node has."""
    there = read_offered(nodes)
    return [name for name in read_devices(jobs) if name not in there]


def read_offered(nodes: Iterable[Manifest]) -> set[str]:
    """The resources that at least one of the nodes has (allocatable)."""
    return {
        name
        for node in nodes
        for name, amount in read_amounts((node.get("status") or {}).get("allocatable")).items()
        if amount > 0
    }


def read_asked(jobs: Iterable[Job]) -> list[str]:
    """Every resource that a container of the jobs asks for (`cpu`, `nvidia.com/gpu`), sorted."""
    containers = (
        container
        for job in jobs
        for role in job.roles
        for kind in ("initContainers", "containers")
        for container in (role.template.get("spec") or {}).get(kind) or ()
    )
    return sorted({name for container in containers for name in _amounts(container)})


def refuse_unasked(resource: str, asked: Sequence[str]) -> Phrase | None:
    """What is wrong with `--without RESOURCE` for jobs that ask for `asked`."""
    if resource in asked:
        return None
    if not asked:
        return phrase("--without {resource}: no job here asks for any resource; leave it out", resource=resource)
    return phrase(
        "--without {resource}: no job here asks for it; they ask for {asked}{perhaps}",
        resource=resource, asked=", ".join(asked), perhaps=perhaps(nearest(resource, asked)),
    )  # fmt: skip


def without_devices(each: Checked, devices: Sequence[str]) -> Checked:
    """The document without requests for `devices`; an annotation of a job keeps the original requests."""
    manifest, removed = each.manifest, False
    for device in devices:
        manifest, removals = without(manifest, device)
        removed = removed or bool(removals)
    return each.with_manifest(manifest) if removed else each
