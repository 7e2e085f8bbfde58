"""Manifests for the tests of `paddock.jobs`: examples of the documents, unchanged, from `manifests/`."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.meta import Manifest
from paddock.manifests.documents import read_documents

FOLDER = Path(__file__).parent / "manifests"
JOBS = (
    "wide_and_deep",
    "wide_and_deep_podip",
    "wide_and_deep_service",
    "wide_and_deep_volcano",
    "resnet",
    "paddlejob_demo_1",
)
KUBEFLOW_JOBS = ("kubeflow_run_check", "kubeflow_distributed")
PYTORCH_JOBS = ("pytorch_mnist", "pytorch_workers", "pytorch_elastic")
JAX_JOBS = ("jax_spmd",)
SAMPLES = (*JOBS, *KUBEFLOW_JOBS, *PYTORCH_JOBS, *JAX_JOBS)
"""Some of every kind."""


def read_text(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def read_manifest(name: str) -> Manifest:
    """The job of a file, as an API server would return it."""
    manifest = deepcopy(read_documents(read_text(name))[0].manifest)
    manifest["metadata"] = {"namespace": "default"} | manifest["metadata"]
    manifest["metadata"] |= {"uid": "0123456789-uid", "generation": 1}
    return manifest


def read_sample(name: str, **spec: Any) -> Job:
    manifest = read_manifest(name)
    manifest["spec"] |= spec
    return read_any(manifest)


def read_any(manifest: Manifest) -> Job:
    """The job, read by its kind."""
    return find_kind(manifest).read_job(manifest)


def find_kind(manifest: Manifest) -> JobApi:
    named = (manifest["apiVersion"], manifest["kind"])
    return next(api for resource, api in KINDS.items() if (resource.api_version, resource.kind) == named)


def with_value(manifest: Manifest, path: tuple[str | int, ...], value: Any) -> Manifest:
    """A copy with `value` at `path`; the value `...` removes the field."""
    result = deepcopy(manifest)
    place: Any = result
    for step in path[:-1]:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return result
