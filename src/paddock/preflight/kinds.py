"""Checks apiVersion and kind of a manifest, and advises what to write in place of other systems' kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube import meta
from paddock.kube.meta import Resource
from paddock.kube.nearness import likeness, nearest
from paddock.kube.validation.field_errors import Code
from paddock.preflight.companions import COMPANIONS, SERVICES
from paddock.words.phrases import Phrase, phrase
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
_RUNTIME = phrase(
    "{kind} has its pods from a runtime of Kubeflow's Trainer, and is not served here: write a PyTorchJob or a "
    "PaddleJob of kubeflow.org/v1, with the runtime's template and trainer.numNodes replicas in all",
)
_MPI = phrase(
    "{kind} is not served: mpirun and hostfiles need a launcher that signs in to its workers, and Paddock makes none. "
    "Start the program with torchrun in each rank of a PyTorchJob; DeepSpeed needs no hostfile there",
)
_CACHE = phrase(
    "{kind} is of a branch of paddle-operator that was never merged, and no operator runs it: mount the data as a "
    "volume, such as a persistentVolumeClaim in spec.worker.template.spec.volumes",
)
_FOREIGN: tuple[tuple[str, str, str], ...] = (
    ("apps/", "Deployment StatefulSet DaemonSet ReplicaSet", _ENDLESS.text),
    ("v1", "ReplicationController", _ENDLESS.text),
    ("batch/", "Job CronJob", _ONE.text),
    ("batch.volcano.sh/", "Job", _ONE.text),
    ("paddlepaddle.org/", "TrainingJob", _OLD.text),
    ("batch.paddlepaddle.org/", "SampleSet SampleJob", _CACHE.text),
    ("kubeflow.org/", "MPIJob", _MPI.text),
    ("kubeflow.org/", "TFJob MXJob XGBoostJob", _OTHER_FRAMEWORK.text),
    ("trainer.kubeflow.org/", "TrainJob", _RUNTIME.text),
    ("jobset.x-k8s.io/", "JobSet", _ONE.text),
    ("ray.io/", "RayJob RayCluster", _OTHER_FRAMEWORK.text),
)
"""Prefix of apiVersion, kinds, and the sentence for them if they are not served."""


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
    names = _names_of_jobs(known)
    if said := explain_foreign(version, kind, known):
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
    """The kind that may be meant; empty for none. In a group of others a name must be very similar: InferenceService is
    no Service."""
    named = {each.kind for each in known}
    there = sorted({each.kind for each in known if each.api_version == version})
    near = kind if kind in named else nearest(kind, there or sorted(named))
    return near if there or not near or likeness(kind, near) >= _NEAR else ""


def explain_foreign(version: str, kind: str, known: Collection[Resource]) -> Phrase | None:
    """What to write in place of a kind of another system; None for any other kind."""
    for prefix, kinds, text in _FOREIGN:
        if version.startswith(prefix) and kind in kinds.split():
            return phrase(text, kind=kind, kinds=_names_of_jobs(known))
    return None


def _names_of_jobs(known: Collection[Resource]) -> tuple[str, ...]:
    return tuple(sorted({each.kind for each in known if each in KINDS})) or ("none",)


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
