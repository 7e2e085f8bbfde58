"""`.status` of a batch.paddlepaddle.org/v1 PaddleJob <-> Status.

paddle-operator's shape: phase, mode, per role its counts with zeros left out and `refs` to its pods, startTime,
completionTime. `ready` ("2/2") of each role is v0.2's; attempt, restarts, cause and conditions are ours.

paddle-operator's refs had a resourceVersion as well. It is left out: it changes whenever a pod does, and each change
would be a write of the job that says nothing. What others have written beside these keys is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.paddlepaddle_conditions import build_conditions
from paddock.jobs.apis.recorded import as_patch, count, mapping, read_ours, read_wanted, text, write_ours
from paddock.jobs.model import Counts, Phase, PodRef, Status
from paddock.kube.meta import PODS, Manifest
from paddock.kube.times import Moment

ROLES = ("ps", "worker", "heter")
_COUNTS = ("pending", "starting", "running", "failed", "succeeded")
_NEVER_SET = (Phase.RESTARTING, Phase.SUSPENDED)


def read_status(manifest: Mapping[str, Any]) -> Status:
    """What was recorded, by whomever; what cannot be read reads as not recorded. Never raises."""
    raw, spec = mapping(manifest, "status"), mapping(manifest, "spec")
    there = {role: mapping(raw, role) for role in ROLES if isinstance(raw.get(role), Mapping)}
    status = read_ours(raw).with_(
        roles={role: _read_counts(counts, mapping(spec, role)) for role, counts in there.items()},
        refs={role: refs for role, counts in there.items() if (refs := _read_refs(counts.get("refs")))},
    )
    return status if "attempt" in raw else _read_paddle_operators(status, spec)


def _read_paddle_operators(status: Status, spec: Mapping[str, Any]) -> Status:
    """It left out roles without pods; it said Starting also of a gang that was not whole, which is what ours means by
    it; and of the phases that it declared it never set some."""
    roles = {role: Counts(wanted=count(mapping(spec, role), "replicas")) for role in ROLES if mapping(spec, role)}
    phase = Phase.NONE if status.phase in _NEVER_SET else status.phase
    return status.with_(
        roles={**roles, **status.roles} if status.roles else {},
        phase=Phase.PENDING if phase is Phase.STARTING else phase,
    )


def write_status(previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
    """A merge patch for `.status`: our keys as they must be, and None for those of ours that must go."""
    roles = {role: _write_role(status, role) if role in status.roles else None for role in ROLES}
    conditions = build_conditions(previous.get("conditions"), status, now)
    return as_patch(previous, write_ours(previous, status) | roles | {"conditions": conditions or None})


def _write_role(status: Status, role: str) -> Manifest:
    counts, refs = status.roles[role], status.refs.get(role, ())
    numbers = {name: getattr(counts, name) or None for name in _COUNTS}
    return {"ready": counts.ready} | numbers | {"refs": [_write_ref(ref) for ref in refs] or None}


def _write_ref(ref: PodRef) -> Manifest:
    kind = {"apiVersion": PODS.api_version, "kind": PODS.kind}
    return kind | {"namespace": ref.namespace, "name": ref.name, "uid": ref.uid}


def _read_refs(raw: Any) -> tuple[PodRef, ...]:
    items = [item for item in raw if isinstance(item, Mapping)] if isinstance(raw, list) else []
    return tuple(PodRef(text(item, "namespace"), text(item, "name"), text(item, "uid")) for item in items)


def _read_counts(raw: Mapping[str, Any], role: Mapping[str, Any]) -> Counts:
    """paddle-operator v0.3 left the wanted number out, and then it is what the spec asks for."""
    return Counts(wanted=read_wanted(raw, count(role, "replicas")), **{name: count(raw, name) for name in _COUNTS})
