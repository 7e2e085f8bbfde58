"""Whether a manifest is of a kind that is known here, and what to write in place of those that people bring along."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.phrases import phrase
from paddock.jobs.problems import Problem
from paddock.jobs.text import either, is_unknown, missing, nearest, perhaps, told, wrong
from paddock.kube import meta
from paddock.kube.meta import Resource

KNOWN: tuple[Resource, ...] = (
    *KINDS,
    *(value for value in vars(meta).values() if isinstance(value, Resource)),
)
"""Kinds that Paddock itself knows; a cluster that serves more of them is asked by the caller."""

_ENDLESS = phrase(
    "{kind} runs programs that never end, and is not served here: training is a PaddleJob, whose spec.worker has the "
    "same replicas and template",
)
_ONE = phrase(
    "{kind} is not served here: a PaddleJob with one worker runs a program to its end as well; the template goes to "
    "spec.worker.template",
)
_OLD = phrase(
    "{kind} is of an operator that PaddlePaddle has given up: write a PaddleJob of batch.paddlepaddle.org/v1, with "
    "pserver as spec.ps and trainer as spec.worker",
)
_OTHER_FRAMEWORK = phrase(
    "{kind} trains with a framework that does not run here; what runs is {kinds}",
)
_FOREIGN: tuple[tuple[str, str, str], ...] = (
    ("apps/", "Deployment StatefulSet DaemonSet ReplicaSet", _ENDLESS.text),
    ("v1", "ReplicationController", _ENDLESS.text),
    ("batch/", "Job CronJob", _ONE.text),
    ("batch.volcano.sh/", "Job", _ONE.text),
    ("paddlepaddle.org/", "TrainingJob", _OLD.text),
    ("kubeflow.org/", "TFJob MPIJob MXJob XGBoostJob JAXJob PyTorchJob TrainJob", _OTHER_FRAMEWORK.text),
    ("ray.io/", "RayJob RayCluster", _OTHER_FRAMEWORK.text),
)
"""Beginning of apiVersion, kinds, and what is said of them, where they are not served."""


def check_kind(manifest: Mapping[str, Any], known: Collection[Resource] = KNOWN) -> Iterator[Problem]:
    version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not version or not kind:
        yield from _check_identity(version, kind, known)
        return
    if any((each.api_version, each.kind) == (version, kind) for each in known):
        return
    jobs = [each for each in known if each in KINDS]
    for prefix, kinds, text in _FOREIGN:
        if version.startswith(prefix) and kind in kinds.split():
            names = tuple(sorted({each.kind for each in jobs})) or ("none",)
            yield told("kind", phrase(text, kind=kind, kinds=names), kind, either(names), names[0])
            return
    named = {each.kind for each in known}
    there = sorted({each.kind for each in known if each.api_version == version} or named)
    meant = kind if kind in named else nearest(kind, there)
    if not meant:
        yield wrong("kind", kind, either(there))
        return
    if meant != kind:
        said = phrase("there is no kind of this name{perhaps}", perhaps=perhaps(meant))
        yield told("kind", said, kind, either(there), meant)
    versions = sorted({each.api_version for each in known if each.kind == meant})
    if version not in versions:
        allowed = phrase("{versions} for a {kind}", versions=tuple(versions), kind=meant)
        yield wrong("apiVersion", version, allowed, _nearest_of(version, versions))


def _check_identity(version: Any, kind: Any, known: Collection[Resource]) -> Iterator[Problem]:
    """Both must be there; the example is a job."""
    job = next((each for each in known if each in KINDS), next(iter(known)))
    for key, value, example in (("apiVersion", version, job.api_version), ("kind", kind, job.kind)):
        if not isinstance(value, str) or not value:
            allowed = phrase('a text like "{example}"', example=example)
            yield missing(key, allowed) if value is None else wrong(key, value, allowed)


def _nearest_of(name: str, names: list[str]) -> str:
    """Where one alone is allowed it needs no repeating."""
    return nearest(name, names) if len(names) > 1 else ""


def place_versions(problems: Collection[Problem], api: JobApi) -> list[Problem]:
    """The same problems; fields that the same kind has in another group say so: `PaddleJob` is of two groups, and a
    manifest put together from both is neither. Then it does not matter what the spec lacks of its own."""
    own = api.resource
    foreign = {
        f"spec.{name}": each.api_version
        for each, other in KINDS.items()
        if each.kind == own.kind
        for name in _spec_fields(other) - _spec_fields(api)
    }
    result = []
    for problem in problems:
        version = foreign.get(problem.path)
        if version and is_unknown(problem) and "." not in problem.suggestion:
            said = phrase(
                "a {kind} of {other} has this field, and this one is of {own}: keep to one of the two",
                kind=own.kind,
                other=version,
                own=own.api_version,
            )
            problem = told(problem.path, said, about_key=True)
        result.append(problem)
    if not any(each.path in foreign and not is_unknown(each) for each in result):
        return result
    return [each for each in result if each.found != "nothing" or each.path.rpartition(".")[0] != "spec"]


def _spec_fields(api: JobApi) -> set[str]:
    return set(api.build_schema()["properties"]["spec"]["properties"])
