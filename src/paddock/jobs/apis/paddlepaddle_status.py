"""`.status` of a batch.paddlepaddle.org/v1 PaddleJob <-> Status.

paddle-operator's shape: phase, mode, per role its counts without zeros and `refs` to its pods, startTime,
completionTime. `ready` ("2/2") of each role is v0.2's; attempt, restarts, cause and conditions are Paddock's.

paddle-operator's refs also have a resourceVersion. It is left out: it changes with every change of a pod, and each
would cost a write of the job's status. Other keys of the status stay.
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
    """The recorded status, paddle-operator's too; an unreadable value counts as absent. Never raises."""
    raw, spec = mapping(manifest, "status"), mapping(manifest, "spec")
    there = {role: mapping(raw, role) for role in ROLES if isinstance(raw.get(role), Mapping)}
    status = read_ours(raw).with_(
        roles={role: _read_counts(counts, mapping(spec, role)) for role, counts in there.items()},
        refs={role: refs for role, counts in there.items() if (refs := _read_refs(counts.get("refs")))},
    )
    return status if "attempt" in raw else _convert_legacy_status(status, spec)


def _convert_legacy_status(status: Status, spec: Mapping[str, Any]) -> Status:
    """A status of paddle-operator. It has no roles without pods; its Starting does not mean that every pod exists, as
    Paddock's does; and it never set Restarting or Suspended."""
    roles = {role: Counts(wanted=count(mapping(spec, role), "replicas")) for role in ROLES if mapping(spec, role)}
    phase = Phase.NONE if status.phase in _NEVER_SET else status.phase
    return status.with_(
        roles={**roles, **status.roles} if status.roles else {},
        phase=Phase.PENDING if phase is Phase.STARTING else phase,
    )


def write_status(previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
    """A merge patch for `.status`: Paddock's keys, None for a key to remove."""
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
    """Counts of one role. paddle-operator v0.3 has no wanted number: the spec's `replicas` counts."""
    return Counts(wanted=read_wanted(raw, count(role, "replicas")), **{name: count(raw, name) for name in _COUNTS})
