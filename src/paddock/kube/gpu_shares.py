"""Pods that share a GPU, on a laptop. Pure.

The annotation `paddock.dev/share-gpu: "4"` of a pod that asks for one `nvidia.com/gpu`: at most four such pods are
placed on one GPU. The scheduler of the local cluster chooses the GPUs of each pod, and writes them to it as it binds it
(`paddock.dev/gpus: "0"`). It does so on a node that says which GPUs it has, by an annotation of the same name
(`paddock.dev/gpus: "0,1"`). No node of a Kubernetes says that: there a GPU is always whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from paddock.kube.meta import Manifest, annotations_of

GPU = "nvidia.com/gpu"
SHARE_ANNOTATION = "paddock.dev/share-gpu"
"""How many pods may share the one GPU that a pod asks for."""
GPUS_ANNOTATION = "paddock.dev/gpus"
"""Of nodes: the indices of their GPUs, as nvidia-smi has them. Of pods: the indices of those that are theirs."""
FEWEST_SHARES, MOST_SHARES = 2, 64
"""One share is a whole GPU. Below a sixty-fourth of the largest GPU (2 GiB) CUDA's own context leaves no room."""


def read_shares(value: Any) -> int:
    """The number of shares that the annotation says; 0 for a value that means nothing, or none."""
    if not (isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 4):
        return 0
    count = int(value)
    return count if FEWEST_SHARES <= count <= MOST_SHARES else 0


def find_shares(annotations: Mapping[str, Any], amounts: Mapping[str, Fraction]) -> int:
    """With how many shares a pod takes its GPU. 0 for a pod that shares none: it has no such annotation, or asks for no
    GPU, or for several."""
    return read_shares(annotations.get(SHARE_ANNOTATION)) if amounts.get(GPU) == 1 else 0


def read_indices(manifest: Manifest) -> tuple[int, ...]:
    """The GPUs of a node or of a pod, each once; empty where nothing says it."""
    parts = str(annotations_of(manifest).get(GPUS_ANNOTATION) or "").split(",")
    found = tuple(map(int, parts)) if all(_is_index(part) for part in parts) else ()
    return found if len(set(found)) == len(found) else ()


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 5


def write_indices(indices: Iterable[int]) -> str:
    return ",".join(map(str, indices))


def weigh(amounts: Mapping[str, Fraction], shares: int) -> Mapping[str, Fraction]:
    """The amounts, with what a share is of a GPU: 1/4."""
    return {**amounts, GPU: amounts[GPU] / shares} if shares and GPU in amounts else amounts
