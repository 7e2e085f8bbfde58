"""`.status` of a job of kubeflow.org/v1 <-> Status.

Kubeflow's shape: conditions, replicaStatuses, startTime, completionTime. Paddock adds phase, mode, attempt, restarts,
cause and observedGeneration, and to each replica status `ready` ("2/2"), `pending` and `starting`. A status without
`attempt` is training-operator's: its phase is read from its conditions. `lastReconcileTime` and `selector` stay.

`active` counts pods whose program has started, ready or not: Kueue releases a job's quota when `active` is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.kubeflow_conditions import build_conditions, read_conditions, read_phase
from paddock.jobs.apis.recorded import as_patch, count, mapping, read_ours, read_wanted, write_ours
from paddock.jobs.model import Counts, Status
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment


def read_status(manifest: Mapping[str, Any], replica_specs: str, roles: Mapping[str, str]) -> Status:
    """The recorded status, training-operator's too; an unreadable value counts as absent. Never raises.
    `replica_specs`: the field of `spec` with the roles; `roles`: replica type (`Master`) -> role."""
    raw, specs = mapping(manifest, "status"), mapping(mapping(manifest, "spec"), replica_specs)
    there = mapping(raw, "replicaStatuses")
    counts = {
        role: _read_counts(there[name], mapping(specs, name))
        for name, role in roles.items()
        if isinstance(there.get(name), Mapping)
    }
    status = read_ours(raw).with_(roles=counts)
    return status if "attempt" in raw else status.with_(phase=read_phase(read_conditions(raw.get("conditions"))))


def write_status(
    previous: Mapping[str, Any], status: Status, now: Moment, kind: str, roles: Mapping[str, str]
) -> Manifest:
    """A merge patch for `.status`: Paddock's keys, None for a key to remove. `kind`: the prefix of the reasons of
    conditions."""
    counts = {name: _write_counts(status.roles[role]) if role in status.roles else None for name, role in roles.items()}
    conditions = build_conditions(read_conditions(previous.get("conditions")), status, now, kind)
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
    """Counts of one replica type. Kubeflow has no wanted number: the spec's `replicas` counts, by default 1."""
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
