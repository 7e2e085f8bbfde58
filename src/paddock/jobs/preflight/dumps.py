"""What a server wrote into a manifest, and what must not go back to it.

`kubectl get -o yaml` prints an object with its status, its UID and more. People keep that as their file; Kubernetes
refuses to create from it for its resourceVersion. Here it is a warning, and `without_server_fields` leaves those out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.jobs.phrases import phrase
from paddock.jobs.preflight.parts import mapping
from paddock.jobs.problems import Problem
from paddock.jobs.text import told
from paddock.kube.meta import Manifest

_METADATA = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
    "ownerReferences", "resourceVersion", "selfLink", "uid",
)  # fmt: skip


def check_dump(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """One warning for all of them, at the first. `creationTimestamp: null` and an empty status are of generators."""
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
    """The manifest as its author would have written it; equal to the argument where there is nothing to leave out."""
    metadata = manifest.get("metadata")
    result = {key: value for key, value in manifest.items() if key != "status"}
    if isinstance(metadata, Mapping):
        result["metadata"] = {key: value for key, value in metadata.items() if key not in _METADATA}
    return result
