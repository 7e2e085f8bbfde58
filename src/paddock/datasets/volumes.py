"""The volume and the claim by which pods of this machine mount a dataset. Pure.

A PersistentVolume of type hostPath is the directory itself, and is reserved for the claim from its beginning, so that
no other claim gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.datasets.definition import Definition
from paddock.datasets.labels import build_label
from paddock.kube.datasets import LABEL
from paddock.kube.meta import CLAIMS, DATASETS, VOLUMES, Manifest, annotations_of

DIRECTORY_ANNOTATION = "paddock.dev/directory"
"""As in `node.volumes.storage`."""


def volume_name(dataset: Definition) -> str:
    """Cluster-scoped, so it carries the UID: names of datasets are used again."""
    return f"dataset-{dataset.uid}"


def build_volume(dataset: Definition, directory: str, size: int) -> Manifest:
    """`directory`: of this machine; `size`: its bytes."""
    key = dataset.key
    return {
        "apiVersion": VOLUMES.api_version,
        "kind": VOLUMES.kind,
        "metadata": {"name": volume_name(dataset), "labels": {LABEL: build_label(key.name)}},
        "spec": {
            "capacity": {"storage": str(max(1, size))},
            "accessModes": ["ReadOnlyMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": directory, "type": "Directory"},
            "claimRef": {"apiVersion": "v1", "kind": CLAIMS.kind, "namespace": key.namespace, "name": dataset.claim},
        },
    }


def build_claim(dataset: Definition, size: int) -> Manifest:
    """Deleted with the Dataset, by its owner reference."""
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "namespace": dataset.key.namespace,
            "name": dataset.claim,
            "labels": {LABEL: build_label(dataset.key.name)},
            "ownerReferences": [owner_of(dataset)],
        },
        "spec": {
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "",
            "volumeName": volume_name(dataset),
            "resources": {"requests": {"storage": str(max(1, size))}},
        },
    }


def is_bound_to(claim: Mapping[str, Any], directory: str) -> bool:
    """Whether pods that start now mount this directory: the local cluster's binder notes it on the claim."""
    bound = (claim.get("status") or {}).get("phase") == "Bound"
    return bound and annotations_of(claim).get(DIRECTORY_ANNOTATION) == directory


def owner_of(dataset: Definition) -> Manifest:
    """An ownerReference to the Dataset."""
    return {
        "apiVersion": DATASETS.api_version,
        "kind": DATASETS.kind,
        "name": dataset.key.name,
        "uid": dataset.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
