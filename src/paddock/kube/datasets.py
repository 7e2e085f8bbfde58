"""What everybody who uses a Dataset must agree on: the names of its claim, its annotations, and its status. Pure.

A Dataset (paddock.dev/v1alpha1, namespaced) names a source. `paddock.datasets` fetches it into a claim of the Dataset's
namespace, on the laptop and on a cluster alike; pods mount that claim, read-only. A pod needs nothing else: a volume
`persistentVolumeClaim: {claimName: dataset-NAME}` is all that a manifest says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from paddock.kube.meta import is_deleting, labels_of, name_of, namespace_of

CLAIM_PREFIX = "dataset-"
"""The claim of Dataset NAME is `dataset-NAME`, unless its source is a claim that exists."""

MOUNTS_ANNOTATION = "paddock.dev/datasets"
"""Annotation on a job: `imagenet:/data, words:/data/words`. The operator mounts each into all containers of its ranks,
read-only, and creates no pod before all are ready."""

LABEL = "paddock.dev/dataset"
"""On all that is made for a Dataset: its claim and volume; on a cluster the Job and the pod that fill the claim."""

FINALIZER = "paddock.dev/dataset"
"""Holds a deleted Dataset until no pod that runs or waits mounts it, and its files are gone."""


class Phase(StrEnum):
    """`status.phase` of a Dataset. PENDING: nothing is done yet; `message` says why."""

    PENDING = "Pending"
    FETCHING = "Fetching"
    READY = "Ready"
    FAILED = "Failed"


_PHASES = frozenset(Phase)


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """What its readers need of a Dataset."""

    namespace: str
    name: str
    phase: Phase
    """PENDING where the status is of an older generation of the spec, and nothing else is known then: nobody takes old
    files for new ones."""
    claim: str
    """What pods mount."""
    percent: int = 0
    """Of the bytes, else of the files; 0 if neither is known."""
    done: int = 0
    """Bytes."""
    total: int = 0
    """Bytes; 0 if it is not known."""
    files: int = 0
    message: str = ""
    retries: bool = False
    """Whether a failure is tried again without anybody's doing."""
    deleting: bool = False
    """Nothing new may mount it."""


def format_size(count: float) -> str:
    """`193 MB`, `7.8 GB`: in powers of ten, as sources tell sizes."""
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.0f} {unit}"
        count /= 1000
    count, unit = (count, "GB") if count < 999.5 else (count / 1000, "TB")
    return f"{count:.1f} {unit}" if count < 99.95 else f"{count:.0f} {unit}"


def format_part(done: float, total: float) -> str:
    """`3.2 of 7.8 GB`, `900 MB of 7.8 GB`; without a total `3.2 GB`."""
    if not total:
        return format_size(done)
    part, whole = format_size(done), format_size(total)
    number, _, unit = part.partition(" ")
    return f"{number if whole.endswith(f' {unit}') else part} of {whole}"


def claim_name(dataset: str) -> str:
    """The claim that Paddock makes for a Dataset."""
    return f"{CLAIM_PREFIX}{dataset}"


def read_claim(manifest: Mapping[str, Any]) -> str:
    """The claim that pods mount: that of `claim://NAME`, else the one that Paddock makes."""
    uri = str(((manifest.get("spec") or {}).get("source") or {}).get("uri") or "")
    own = uri.removeprefix("claim://").partition("/")[0]
    return own if uri.startswith("claim://") and own else claim_name(name_of(manifest))


def read_status(manifest: Mapping[str, Any]) -> DatasetStatus:
    """The state of a stored Dataset, whoever wrote its status."""
    status: Mapping[str, Any] = manifest.get("status") or {}
    if status.get("observedGeneration", 0) != (manifest.get("metadata") or {}).get("generation", 0):
        status = {}
    phase = str(status.get("phase") or "")
    return DatasetStatus(
        namespace=namespace_of(manifest),
        name=name_of(manifest),
        phase=Phase(phase) if phase in _PHASES else Phase.PENDING,
        claim=read_claim(manifest),
        percent=_whole(status.get("progress")),
        done=_whole(status.get("bytesDone")),
        total=_whole(status.get("bytesTotal")),
        files=_whole(status.get("files")),
        message=str(status.get("message") or ""),
        retries=bool(status.get("retries")),
        deleting=is_deleting(manifest),
    )


def read_mounted(pod: Mapping[str, Any]) -> frozenset[str]:
    """The claims that a pod names that has not ended; none of a pod that fills one."""
    if LABEL in labels_of(pod) or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return frozenset()
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    named = ((each.get("persistentVolumeClaim") or {}).get("claimName") for each in volumes)
    return frozenset(str(claim) for claim in named if claim)


def _whole(value: object) -> int:
    """Another program's number; 0 for what is none."""
    return value if isinstance(value, int) and value >= 0 else 0
