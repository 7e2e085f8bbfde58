"""Between which sizes the workers of a job may train.

    annotation   `paddock.dev/elastic: "1-4"`, on any job; it comes before the fields below
    Kubeflow     `spec.elasticPolicy` of a PaddleJob (training-operator v1.9 takes it and never reads it)
    batch        `spec.elastic`, and `requests` and `limits` of the worker, which paddle-operator's schema explains as
                 its least and most replicas, and which no version of it read

`replicas` is what is wanted. The annotation must have it among its sizes; the fields, which were never checked, are
widened to it. A PyTorchJob with an `elasticPolicy` is not read here: its launcher changes the number of ranks by itself
(`frameworks.pytorch`). So does PaddlePaddle's with etcd as its master, and such a job is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs.labels import ELASTIC_ANNOTATION
from paddock.jobs.launch import Launch
from paddock.jobs.model import Elasticity, Role
from paddock.manifests.fields import Fields
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import told

_SIZES = re.compile(r"\s*([0-9]{1,5})\s*-\s*([0-9]{1,5})\s*")
_WORKER = "worker"
_MOST = 2**31 - 1
_BY_TORCHRUN = phrase("has no effect beside an elasticPolicy, by which torchrun changes the number of ranks itself")
_BY_ETCD = phrase(
    "has no effect: the master of the launcher is etcd, by which it changes the number of ranks itself; Paddock leaves "
    "the job at its size"
)
_ANY_SIZE = phrase(
    "restarts what fails, and lets the workers train with any number from 1 to their replicas; requests and limits of "
    "the worker, or the annotation paddock.dev/elastic, name the sizes"
)
_RESTARTS_UNREAD = phrase("is not read: how often a job may restart is in spec.runPolicy.backoffLimit")


def read_elasticity(
    metadata: Fields, spec: Fields, roles: Sequence[Role], framework: str, launch: Launch
) -> Elasticity | None:
    """None for a job whose size does not change by itself. Adds a problem about sizes that cannot be."""
    annotations, role = metadata.child("annotations"), next((role for role in roles if role.name == _WORKER), None)
    if annotations.has(ELASTIC_ANNOTATION):
        where, key, found = annotations, ELASTIC_ANNOTATION, _read_annotation(annotations, role, launch)
    elif framework == "paddle" and spec.has("elasticPolicy"):
        where, key, found = spec, "elasticPolicy", _read_policy(spec.child("elasticPolicy"), role)
    elif framework == "paddle" and spec.has(_WORKER):
        where, key, found = spec, "elastic", _read_fields(spec, role)
    else:
        return None
    if found is not None and launch.etcd:
        where.warn(key if where.has(key) else _WORKER, _BY_ETCD)
        return None
    worker = spec.child(_WORKER)
    if key == "elastic" and spec.has(key) and not (worker.has("requests") or is_bounded(worker)):
        spec.warn("elastic", _ANY_SIZE)
    elif found is not None and key != ELASTIC_ANNOTATION:
        where, key = (worker, "limits") if key == "elastic" and is_bounded(worker) else (spec, key)
        where.warn(key, _explain_sizes(found, none=spec.child("elasticPolicy").value.get("minReplicas") == 0))
    return found


def _explain_sizes(sizes: Elasticity, *, none: bool) -> Phrase:
    """These fields were never read by the operators whose they are. `none`: minReplicas is 0."""
    if none:
        return phrase(
            "lets the workers train with any number from {least} to {most} (minReplicas 0 is taken as 1), and all "
            "ranks start again when it changes: the script needs a checkpoint",
            least=sizes.least,
            most=sizes.most,
        )
    return phrase(
        "lets the workers train with any number from {least} to {most}, and all ranks start again when it changes: the "
        "script needs a checkpoint",
        least=sizes.least,
        most=sizes.most,
    )


def read_sizes(text: str) -> tuple[int, int] | None:
    """`1-4`; None for anything that is no such sizes."""
    found = _SIZES.fullmatch(text)
    least, most = (int(found[1]), int(found[2])) if found else (0, 0)
    return (least, most) if 1 <= least <= most else None


def keep_sizes(text: str, spec: Mapping[str, Any], size: int) -> str:
    """The annotation by which a job goes on whose annotation may have become wrong: as it is, or else so that a gang of
    `size` ranks (`Status.gang_size`) stays. Empty: without it. `spec`: one that was valid."""
    workers, sizes = _find_replicas(spec), read_sizes(text)
    if sizes and (not workers or sizes[0] <= workers <= sizes[1]):
        return text
    return f"{size}-{workers}" if 0 < size <= workers else ""


def _find_replicas(spec: Mapping[str, Any]) -> int:
    roles = next((value for name, value in spec.items() if name.endswith("ReplicaSpecs")), spec)
    named = roles.items() if isinstance(roles, Mapping) else ()
    worker = next((value for name, value in named if name.lower() == _WORKER), None)
    found = worker.get("replicas", 1) if isinstance(worker, Mapping) else 0
    return found if isinstance(found, int) else 0


def _read_annotation(annotations: Fields, role: Role | None, launch: Launch) -> Elasticity | None:
    if launch.elastic is not None:
        annotations.warn(ELASTIC_ANNOTATION, _BY_TORCHRUN)
        return None
    sizes = read_sizes(annotations.text(ELASTIC_ANNOTATION))
    if sizes is None:
        annotations.refuse(ELASTIC_ANNOTATION, phrase("the least and the most workers, such as 1-4,"))
        return None
    if role is None:
        annotations.refuse(ELASTIC_ANNOTATION, phrase("no size, as the job has no workers,"))
        return None
    if role.replicas and not sizes[0] <= role.replicas <= sizes[1]:
        said = phrase(
            "leaves out the {workers} replicas of worker: write other replicas, or sizes among which they are",
            workers=role.replicas,
        )
        annotations.add(told(annotations.path_of(ELASTIC_ANNOTATION), said, annotations.text(ELASTIC_ANNOTATION)))
        return None
    return Elasticity(_WORKER, *sizes)


def _read_policy(policy: Fields, role: Role | None) -> Elasticity | None:
    least, most = policy.whole("minReplicas", 0, _MOST), policy.whole("maxReplicas", 0, _MOST)
    policy.whole("maxRestarts", 0, _MOST)
    if policy.has("maxRestarts"):
        policy.warn("maxRestarts", _RESTARTS_UNREAD)
    if least is not None and most is not None and least > most:
        policy.refuse("minReplicas", phrase("a whole number of at most maxReplicas, {most},", most=most))
        return None
    return None if _is_refused(policy, minReplicas=least, maxReplicas=most) else _widen(least, most, role)


def _read_fields(spec: Fields, role: Role | None) -> Elasticity | None:
    """By paddle-operator's schema a positive `limits` is enough. `elastic` alone names no sizes: any will do."""
    worker = spec.child(_WORKER)
    if not spec.has("elastic") and not is_bounded(worker):
        return None
    least, most = worker.whole("requests", 0, _MOST), worker.whole("limits", 0, _MOST)
    if least and most and least > most:
        worker.refuse("requests", phrase("a whole number of at most limits, {most},", most=most))
        return None
    if _is_refused(worker, requests=least, limits=most):
        return None
    if least == 0 or (least is None and not is_bounded(worker)):
        least = 1
    return _widen(least, most or None, role)


def _is_refused(fields: Fields, **read: int | None) -> bool:
    """Whether a number that is there could not be read: then the sizes are unknown."""
    return any(number is None and fields.has(key) for key, number in read.items())


def is_bounded(role: Fields) -> bool:
    """Whether paddle-operator's fields `requests` and `limits` of a role give the sizes."""
    limits = role.value.get("limits")
    return isinstance(limits, int | float) and not isinstance(limits, bool) and limits > 0


def _widen(least: int | None, most: int | None, role: Role | None) -> Elasticity | None:
    """The sizes with the replicas among them. A bound that is not given is the other one, or the replicas."""
    workers = role.replicas if role else 0
    low = next((each for each in (least, most) if each is not None), workers)
    high = next((each for each in (most, least) if each is not None), workers)
    low, high = max(1, min(low, workers or low)), max(high, workers or high)
    return Elasticity(_WORKER, low, high) if low < high else None
