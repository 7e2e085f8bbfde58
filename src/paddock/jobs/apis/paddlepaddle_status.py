"""`.status` of a batch.paddlepaddle.org/v1 PaddleJob <-> Status.

paddle-operator's shape: phase, mode, per role its counts with zeros left out, startTime, completionTime. `ready`
("2/2") of each role is v0.2's; attempt, restarts and cause are ours. `refs` is not written: it repeats a list of the
pods. What others have written beside these keys is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.recorded import as_patch, count, mapping, read_ours, read_wanted, write_ours
from paddock.jobs.model import Counts, Status
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment

ROLES = ("ps", "worker", "heter")
_COUNTS = ("pending", "starting", "running", "failed", "succeeded")


def read_status(manifest: Mapping[str, Any]) -> Status:
    """What was recorded, by whomever; what cannot be read reads as not recorded. Never raises."""
    raw, spec = mapping(manifest, "status"), mapping(manifest, "spec")
    roles = {role: _read_counts(raw[role], mapping(spec, role)) for role in ROLES if isinstance(raw.get(role), dict)}
    return read_ours(raw).with_(roles=roles)


def write_status(previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
    """A merge patch for `.status`: our keys as they must be, and None for those of ours that must go."""
    roles = {role: _write_counts(status.roles[role]) if role in status.roles else None for role in ROLES}
    return as_patch(previous, write_ours(previous, status) | roles)


def _write_counts(counts: Counts) -> Manifest:
    return {"ready": counts.ready} | {name: getattr(counts, name) or None for name in _COUNTS}


def _read_counts(raw: Mapping[str, Any], role: Mapping[str, Any]) -> Counts:
    """paddle-operator v0.3 left the wanted number out, and then it is what the spec asks for."""
    return Counts(wanted=read_wanted(raw, count(role, "replicas")), **{name: count(raw, name) for name in _COUNTS})
