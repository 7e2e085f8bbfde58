"""Fields that an API server has written into a manifest, and that must not be sent back.

`kubectl get -o yaml` prints an object with its status, UID and resourceVersion. Users keep that as their file, and
Kubernetes refuses to create an object with a resourceVersion. Such fields are a warning; `without_server_fields`
removes them. `clusterName` is gone since Kubernetes 1.24, and never held anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.kube.meta import Manifest
from paddock.manifests.parts import mapping
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_METADATA = (
    "clusterName", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
    "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
)  # fmt: skip


def check_dump(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """One warning for all such fields, at the first. `creationTimestamp: null` and an empty status do not count: code
    generators write them."""
    metadata = mapping(manifest.get("metadata"))
    found = [f"metadata.{key}" for key in metadata if key in _METADATA and metadata[key] is not None]
    found += ["status"] if manifest.get("status") else []
    if found:
        said = phrase(
            "a cluster wrote this, as `kubectl get -o yaml` prints it; {fields} are left out", fields=_list(found)
        )
        yield told(found[0], said, severity="warning", about_key=True)


def _list(fields: list[str]) -> str:
    return ", ".join(fields)


def without_server_fields(manifest: Mapping[str, Any]) -> Manifest:
    """The manifest without fields of the server; equal to the argument if it has none."""
    metadata = manifest.get("metadata")
    result = {key: value for key, value in manifest.items() if key != "status"}
    if isinstance(metadata, Mapping):
        result["metadata"] = {key: value for key, value in metadata.items() if key not in _METADATA}
    return result
