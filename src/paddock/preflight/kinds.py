"""Checks apiVersion and kind of a manifest. What is written in place of other systems' kinds is in `foreign_kinds`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube import meta
from paddock.kube.meta import Resource
from paddock.kube.nearness import likeness, nearest
from paddock.kube.validation.field_errors import Code
from paddock.preflight.companions import COMPANIONS, SERVICES
from paddock.preflight.foreign_kinds import explain_foreign, name_jobs
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import either, missing, perhaps, told, wrong

_OF_CLUSTERS = (meta.BATCH_JOBS, meta.DEPLOYMENTS)
"""Kinds that Paddock reads or makes on a cluster, and that the local one does not serve."""

KNOWN: tuple[Resource, ...] = (
    *KINDS,
    *(value for value in vars(meta).values() if isinstance(value, Resource) and value not in _OF_CLUSTERS),
    *COMPANIONS,
)
"""Kinds that Paddock itself knows; the caller adds further kinds of its cluster."""

BESIDE_JOBS: tuple[Resource, ...] = (*KNOWN, *SERVICES)
"""Kinds that are sent in one file with a job."""

_NEAR = 0.75
"""The similarity from which a kind of a group that nobody here knows is a misspelt one of ours."""


def check_kind(
    manifest: Mapping[str, Any], known: Collection[Resource] = KNOWN, *, beside: bool = False
) -> Iterator[Problem]:
    """`beside`: whether a job stands in the same file. Then a kind that nobody here knows is left out with a
    warning."""
    version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not version or not kind:
        yield from _check_identity(version, kind, known)
        return
    if any((each.api_version, each.kind) == (version, kind) for each in known):
        return
    names = name_jobs(known)
    if said := explain_foreign(version, kind, known, manifest):
        yield told("kind", said, kind, either(names), names[0], code=Code.NOT_SUPPORTED)
        return
    meant = _find_meant(version, kind, known)
    if not meant and beside:
        said = phrase(
            "{kind} of {version} is no kind that Paddock knows, so it is left out: kubectl sends the whole file",
            kind=kind,
            version=version,
        )
        yield told("kind", said, kind, severity="warning", code=Code.NOT_SUPPORTED)
        return
    if not meant:
        said = phrase(
            "{kind} of {version} does not run here; what runs is {kinds}", kind=kind, version=version, kinds=names
        )
        yield told("kind", said, kind, either(names), code=Code.NOT_SUPPORTED)
        return
    if meant != kind:
        said = phrase("there is no kind of this name{perhaps}", perhaps=perhaps(meant))
        yield told("kind", said, kind, meant, meant, code=Code.NOT_SUPPORTED)
    versions = sorted({each.api_version for each in known if each.kind == meant})
    if version not in versions:
        allowed = phrase("{versions} for a {kind}", versions=tuple(versions), kind=meant)
        yield wrong("apiVersion", version, allowed, _nearest_of(version, versions), code=Code.NOT_SUPPORTED)


def _find_meant(version: str, kind: str, known: Collection[Resource]) -> str:
    """The kind that may be meant; empty for none. In a group of others a name must be very similar, and one that
    Kubernetes has too is another kind there: a Service of serving.knative.dev is no misspelt Service."""
    named = {each.kind for each in known}
    there = sorted({each.kind for each in known if each.api_version == version})
    near = kind if kind in named else nearest(kind, there or sorted(named))
    if there or not near:
        return near
    is_ours = near in {each.kind for each in KINDS} or not _is_of_others(version, known)
    return near if is_ours and likeness(kind, near) >= _NEAR else ""


def _is_of_others(version: str, known: Collection[Resource]) -> bool:
    """Whether nobody here knows the group, and it is none of Kubernetes' own, which have no dot or end in k8s.io."""
    group = version.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io") and all(each.group != group for each in known)


def _check_identity(version: Any, kind: Any, known: Collection[Resource]) -> Iterator[Problem]:
    """The problems of a missing or invalid apiVersion or kind; the example is a job."""
    job = next((each for each in known if each in KINDS), next(iter(known)))
    for key, value, example in (("apiVersion", version, job.api_version), ("kind", kind, job.kind)):
        if not isinstance(value, str) or not value:
            allowed = phrase('a text like "{example}"', example=example)
            yield missing(key, allowed) if value is None else wrong(key, value, allowed)


def _nearest_of(name: str, names: list[str]) -> str:
    """The nearest name; empty if only one is allowed, as the sentence has it already."""
    return nearest(name, names) if len(names) > 1 else ""
