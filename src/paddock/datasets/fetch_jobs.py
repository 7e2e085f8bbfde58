"""The Job that fills the claim of a Dataset on a cluster. Pure.

Its pod runs `datasets.fetch` with what is not secret of the request in a variable; the kubelet puts the Secret's values
beside it, so that the operator never reads a Secret.

Two parties try again, and each what only it can know. A pod that was ended from outside (a drained node, no memory) is
replaced by the Job: the next one goes on in the same claim. An end that the child has reported, with exit code 1, fails
the Job at once (`podFailurePolicy`), and the controller decides by its fault whether there is another Job. Servers
before Kubernetes 1.26 drop that field: there the controller deletes the Job when it sees the report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from paddock.datasets.definition import Definition, build_request
from paddock.datasets.fetch.requests import SECRET_PREFIX, TERMINATION_VARIABLE
from paddock.datasets.fetching import REQUEST_VARIABLE
from paddock.datasets.labels import build_labels, shorten
from paddock.datasets.sources import Kind
from paddock.datasets.volumes import owner_of
from paddock.kube.meta import BATCH_JOBS, Manifest
from paddock.words.phrases import phrase

CONTAINER = "fetch"
TARGET = "/data"
TERMINATION_FILE = "/dev/termination-log"
CLAIM_ANNOTATION = "paddock.dev/claim-uid"
"""Annotation on the Job: which claim it fills. Another claim of that name holds nothing of it."""

_REPORTED = 1
"""The exit code of a child that has said why it failed (datasets/fetching.py)."""
_TRIES = 10
"""Pods that may be ended from outside, in a row, before the Job counts as failed."""
_USER = 65532
"""UID and GID of the operator's image."""
_NAME_LENGTH = 42


@dataclass(frozen=True, slots=True)
class FetchPod:
    """How pods that fetch run on this cluster."""

    image: str
    kinds: frozenset[Kind] = frozenset({Kind.HTTP, Kind.S3})
    """The sources that the image has the programs and libraries for."""
    proxies: tuple[tuple[str, str], ...] = ()
    """Variables, as HTTPS_PROXY."""


def build_job_name(dataset: Definition) -> str:
    """`dataset-imagenet-3f2a9c01de`: another source or round has another name. At most 63 characters, as the names of
    the Job's pods and the value of their label begin with it."""
    name = dataset.key.name.replace(".", "-")
    short = name if len(name) <= _NAME_LENGTH else shorten(name, _NAME_LENGTH)
    request = msgspec.to_builtins(build_request(dataset, TARGET, {}))
    wanted = [dataset.uid, dataset.secret, dataset.claim, *request.items()]
    return f"dataset-{short}-{hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:10]}"


def build_job(dataset: Definition, claim_uid: str, pod: FetchPod) -> Manifest:
    labels = build_labels(dataset.key.name)
    return {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": {
            "name": build_job_name(dataset),
            "namespace": dataset.key.namespace,
            "labels": labels,
            "annotations": {CLAIM_ANNOTATION: claim_uid},
            "ownerReferences": [owner_of(dataset)],
        },
        "spec": {
            "backoffLimit": _TRIES,
            "podFailurePolicy": {"rules": _build_rules()},
            "template": {"metadata": {"labels": dict(labels)}, "spec": _build_pod(dataset, pod)},
        },
    }


def _build_rules() -> Sequence[Manifest]:
    return [
        # First, as the child reports its end by SIGTERM too: a drained node or a preemption is nobody's failure.
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": [_REPORTED]}},
    ]


def _build_pod(dataset: Definition, pod: FetchPod) -> Manifest:
    """Fulfils Kubernetes' Pod Security Standard "restricted"."""
    return {
        # With OnFailure the kubelet would start the container again after each failure, whatever was reported.
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            # The volume of a new claim belongs to root. What is in it is not gone through again at each start.
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_build_container(dataset, pod)],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": dataset.claim}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }


def _build_container(dataset: Definition, pod: FetchPod) -> Manifest:
    # Required: a Secret that is not there is said of the pod, and is no anonymous request that the source refuses.
    secret = {"envFrom": [{"prefix": SECRET_PREFIX, "secretRef": {"name": dataset.secret}}]}
    return {
        "name": CONTAINER,
        "image": pod.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-m", "paddock.datasets.fetch"],
        **(secret if dataset.secret else {}),
        "env": _build_variables(dataset, pod),
        "volumeMounts": [{"name": "data", "mountPath": TARGET}, {"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
        # No limit of the processor: checksums are computed while it fetches.
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "terminationMessagePath": TERMINATION_FILE,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _build_variables(dataset: Definition, pod: FetchPod) -> list[Manifest]:
    request = msgspec.json.encode(build_request(dataset, TARGET, {})).decode()
    values = {
        # Kubernetes replaces $(NAME) in values; $$ is one dollar.
        REQUEST_VARIABLE: request.replace("$", "$$"),
        TERMINATION_VARIABLE: TERMINATION_FILE,
        "HOME": "/tmp",  # noqa: S108 - the pod's own
        "PYTHONUNBUFFERED": "1",
        **dict(pod.proxies),
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def read_condition(job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The condition Complete or Failed of a Job that has ended; None while it runs."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    ended = (each for each in conditions if each.get("type") in ("Complete", "Failed") and each.get("status") == "True")
    return next(ended, None)


def fails_by_itself(job: Mapping[str, Any]) -> bool:
    """Whether the server knows `podFailurePolicy`: it drops a field that it does not know."""
    return bool((job.get("spec") or {}).get("podFailurePolicy"))


def explain_unfetchable(dataset: Definition, pod: FetchPod) -> str:
    """Why no pod of a cluster can fetch a source, and what to do; empty if one can."""
    source = dataset.source
    if source.kind is Kind.DIRECTORY or source.uri.lower().startswith("git+file:"):
        said = phrase(
            "{uri} is on one machine, and the pods of a cluster run on many: copy it into a claim and name that, as "
            "claim://NAME, or into a bucket, as s3://BUCKET/PREFIX",
            uri=source.shown,
        )
        return str(said)
    if source.kind is Kind.CLAIM or source.kind in pod.kinds:
        return ""
    if source.kind is Kind.GIT:
        said = phrase(
            "the image {image}, in which datasets are fetched, has not got git: the operator's option "
            "--datasets-image names one that has (docs/kubernetes.md, Datasets on a cluster)",
            image=pod.image,
        )
    else:
        said = phrase(
            "the image {image}, in which datasets are fetched, has not got the libraries of hubs: the operator's "
            "option --datasets-image names one that has (docs/kubernetes.md, Datasets on a cluster)",
            image=pod.image,
        )
    return str(said)
