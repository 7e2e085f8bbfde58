"""Removes paddle-operator's finalizer from every job that has it.

The finalizer freed host ports until v0.3.2 and has no use since. Where paddle-operator does not run it keeps a deleted
job, and with it a namespace or the whole definition, Terminating for ever. It is removed from jobs whose manifest
cannot be read as well; those have no plan, so this is no part of one. Nothing else of a user's metadata or spec is
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import Manifest, metadata, version_of

FINALIZER = "finalizers.paddlepaddle.org"


def plan_release(manifest: Mapping[str, Any]) -> Manifest | None:
    """A merge patch, guarded by the resourceVersion; or None for a job without the finalizer."""
    there = metadata(manifest).get("finalizers")
    if not isinstance(there, list) or FINALIZER not in there:
        return None
    kept = [name for name in there if name != FINALIZER]
    # A merge patch replaces the whole list: without the guard it would remove a finalizer that was added meanwhile.
    return {"metadata": {"resourceVersion": version_of(manifest), "finalizers": kept or None}}
