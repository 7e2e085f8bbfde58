"""Which GPUs a pod of a laptop has, and its share of one. Pure; the rules are in `kube.gpu_shares`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.model import Job
from paddock.kube.gpu_shares import SHARE_ANNOTATION, find_shares, read_indices, weigh
from paddock.kube.meta import annotations_of
from paddock.kube.pod_amounts import Amounts, read_pod_amounts
from paddock.words.phrases import Names, Phrase, phrase


def tell_gpus(pod: Mapping[str, Any]) -> Phrase | None:
    """`GPU 0`, `GPUs 0 and 1`, `1/4 of GPU 0`; None where nothing says which are its."""
    indices = read_indices(dict(pod))
    if not indices or not (pod.get("spec") or {}).get("nodeName"):
        return None
    if shares := read_pod_shares(pod):
        return phrase("1/{shares} of GPU {index}", shares=shares, index=indices[0])
    if len(indices) == 1:
        return phrase("GPU {index}", index=indices[0])
    return phrase("GPUs {indices}", indices=Names(tuple(map(str, indices)), most=0))


def read_pod_shares(pod: Mapping[str, Any]) -> int:
    """Into how many shares its GPU is divided; 0 for a pod that shares none."""
    try:
        return find_shares(annotations_of(pod), read_pod_amounts(pod.get("spec") or {}))
    except ValueError:
        return 0


def weigh_pod(pod: Mapping[str, Any], annotations: Mapping[str, Any] | None = None) -> Amounts:
    """What a pod, or the template of one, occupies on a node whose GPUs are shared: a quarter of a GPU. `annotations`:
    of the job, which count where the template has none. Raises `ValueError` as `read_pod_amounts`."""
    amounts = read_pod_amounts(pod.get("spec") or {})
    own = (pod.get("metadata") or {}).get("annotations") or {}
    return weigh(amounts, find_shares({**(annotations or {}), **own}, amounts))


def shares_gpus(job: Job) -> bool:
    """Whether the job, or the template of a role, has the annotation by which ranks share a GPU."""
    templates = ((role.template.get("metadata") or {}).get("annotations") or {} for role in job.roles)
    return any(SHARE_ANNOTATION in each for each in (job.annotations, *templates))
