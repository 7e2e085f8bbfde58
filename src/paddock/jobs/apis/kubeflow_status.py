"""`.status` of a kubeflow.org/v1 PaddleJob <-> Status.

Kubeflow's shape: conditions, replicaStatuses, startTime, completionTime. Ours beside it are phase, mode, attempt,
restarts, cause and observedGeneration, and in each replica status `ready` ("2/2"), `pending` and `starting`. A status
without `attempt` was written by Kubeflow's operator: its phase is read from its conditions. `lastReconcileTime` and
`selector` are left as they are.

`active` counts pods whose program has begun, up or not yet: Kueue gives a job's room away once it is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.kubeflow_conditions import build_conditions, read_conditions, read_phase
from paddock.jobs.apis.recorded import as_patch, count, mapping, read_ours, read_wanted, write_ours
from paddock.jobs.model import Counts, Status
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment

ROLES = {"Master": "master", "Worker": "worker"}
"""Kubeflow's replica types, in its order, and the roles that they are here."""


def read_status(manifest: Mapping[str, Any]) -> Status:
    """What was recorded, by whomever; what cannot be read reads as not recorded. Never raises."""
    raw, specs = mapping(manifest, "status"), mapping(mapping(manifest, "spec"), "paddleReplicaSpecs")
    there = mapping(raw, "replicaStatuses")
    counts = {
        role: _read_counts(there[kind], mapping(specs, kind))
        for kind, role in ROLES.items()
        if isinstance(there.get(kind), Mapping)
    }
    status = read_ours(raw).with_(roles=counts)
    return status if "attempt" in raw else status.with_(phase=read_phase(read_conditions(raw.get("conditions"))))


def write_status(previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
    """A merge patch for `.status`: our keys as they must be, and None for those of ours that must go."""
    counts = {kind: _write_counts(status.roles[role]) if role in status.roles else None for kind, role in ROLES.items()}
    conditions = build_conditions(read_conditions(previous.get("conditions")), status, now)
    return as_patch(
        previous, write_ours(previous, status) | {"replicaStatuses": counts, "conditions": conditions or None}
    )


def _write_counts(counts: Counts) -> Manifest:
    return {
        "ready": counts.ready,
        "active": (counts.running + counts.starting) or None,
        "succeeded": counts.succeeded or None,
        "failed": counts.failed or None,
        "pending": counts.pending or None,
        "starting": counts.starting or None,
    }


def _read_counts(raw: Mapping[str, Any], spec: Mapping[str, Any]) -> Counts:
    """Kubeflow leaves the wanted number out, and then it is what the spec asks for: one, where it says nothing."""
    wanted = count(spec, "replicas") if spec.get("replicas") is not None else int(bool(spec))
    starting = count(raw, "starting")
    return Counts(
        wanted=read_wanted(raw, wanted),
        pending=count(raw, "pending"),
        starting=starting,
        running=max(count(raw, "active") - starting, 0),
        succeeded=count(raw, "succeeded"),
        failed=count(raw, "failed"),
    )
