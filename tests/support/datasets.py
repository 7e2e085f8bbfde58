"""Datasets whose status the test itself writes, as the controller that fetches them would."""

from __future__ import annotations

from typing import Any

from paddock.kube.api import Api
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import DATASETS, Manifest

GB = 1_000_000_000


def build_dataset(name: str = "imagenet", uri: str = "https://example.com/x.tar") -> Manifest:
    source = {"source": {"uri": uri}}
    return {
        "apiVersion": DATASETS.api_version,
        "kind": DATASETS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": source,
    }


async def write_status(api: Api, name: str, phase: str, **status: Any) -> None:
    """Of the generation that is stored."""
    stored = await api.get(DATASETS, "default", name)
    said = {"phase": phase, "observedGeneration": stored["metadata"]["generation"], **status}
    await api.patch(DATASETS, "default", name, {"status": said}, subresource="status")


async def tell_progress(api: Api, name: str, percent: int, total: int = 8 * GB) -> None:
    await write_status(
        api, name, "Fetching", progress=percent, bytesDone=total * percent // 100, bytesTotal=total, message="fetching"
    )


def mounting(job: Manifest, text: str = "imagenet:/data") -> Manifest:
    """The job with the annotation."""
    return {**job, "metadata": {**job["metadata"], "annotations": {MOUNTS_ANNOTATION: text}}}
