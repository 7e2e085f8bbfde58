"""The finalizer that paddle-operator put on every job: it is taken off, at once and from every job that has it.

It freed host ports until v0.3.2 and nothing since, and all that it does is to keep a job, and with it a namespace or
the whole definition, Terminating for as long as no such operator runs. It goes from jobs whose manifest cannot be read
as well, which is why it is no part of a plan: those have none. Nothing else of a user's object is ever written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import Manifest, metadata, version_of

FINALIZER = "finalizers.paddlepaddle.org"


def plan_release(manifest: Mapping[str, Any]) -> Manifest | None:
    """A merge patch, guarded by the version that was read, as it names all finalizers that stay; None for no need."""
    there = metadata(manifest).get("finalizers")
    if not isinstance(there, list) or FINALIZER not in there:
        return None
    kept = [name for name in there if name != FINALIZER]
    return {"metadata": {"resourceVersion": version_of(manifest), "finalizers": kept or None}}
