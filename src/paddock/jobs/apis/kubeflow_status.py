"""`.status` of a job of kubeflow.org/v1 <-> Status.

Kubeflow's shape: conditions, replicaStatuses, startTime, completionTime. Paddock adds phase, mode, attempt, restarts,
cause, `why` (the cause, and an edit that is not followed, as an English sentence, which the messages of conditions do
not have) and observedGeneration, and to each replica status `ready` ("2/2"), `pending` and `starting`. A status without
`attempt` is training-operator's: its phase is read from its conditions. `lastReconcileTime` stays.

`active` counts pods whose program has started, ready or not, until they are gone: Kueue releases a job's quota when
`active` is 0. v1.9 sets it to 0 as soon as the job is suspended, while its pods still hold their GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.jobs.apis.kubeflow_conditions import build_conditions, read_conditions, read_phase
from paddock.jobs.apis.recorded import as_patch, count, mapping, read_ours, read_wanted, write_ours
from paddock.jobs.model import Counts, Phase, RestartPolicy, Status
from paddock.jobs.names import job_label
from paddock.kube.meta import Manifest, key_of
from paddock.kube.times import Moment

if TYPE_CHECKING:
    from paddock.jobs.apis.kubeflow_sentences import Subject

_LABELS = "training.kubeflow.org"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a status needs to know of its kind."""

    kind: str
    replica_specs: str  # the field of `spec` with the roles
    roles: Mapping[str, str]  # replica type (`Master`) -> role
    masters: frozenset[str]  # the roles that are Masters


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
    return status if "attempt" in raw else _read_theirs(raw, status)


def _read_theirs(raw: Mapping[str, Any], status: Status) -> Status:
    """A status of training-operator. Suspending keeps its startTime there, and resuming sets a new one: from the old
    one, the deadline would have passed at once."""
    phase = read_phase(read_conditions(raw.get("conditions")))
    return status.with_(phase=phase, started=None if phase is Phase.SUSPENDED else status.started)


def write_status(
    previous: Mapping[str, Any], status: Status, now: Moment, shape: Shape, manifest: Mapping[str, Any]
) -> Manifest:
    """A merge patch for `.status`: Paddock's keys, None for a key to remove. `manifest`: the job; empty leaves its name
    out of messages, and the selectors."""
    from paddock.jobs.sentences.explain import explain_state  # late: a list of jobs writes no status

    counts = {
        name: _write_counts(status.roles[role]) | _build_selector(shape.kind, role, manifest)
        if role in status.roles
        else None
        for name, role in shape.roles.items()
    }
    subject = _build_subject(status, shape, manifest)
    conditions = build_conditions(read_conditions(previous.get("conditions")), status, now, subject)
    return as_patch(
        previous,
        write_ours(previous, status)
        | {"why": explain_state(status) or None, "replicaStatuses": counts, "conditions": conditions or None},
    )


def _build_subject(status: Status, shape: Shape, manifest: Mapping[str, Any]) -> Subject:
    from paddock.jobs.apis.kubeflow_sentences import Subject

    key = key_of(manifest)
    specs = mapping(mapping(manifest, "spec"), shape.replica_specs)
    by_exit_code = (
        role
        for name, role in shape.roles.items()
        if mapping(specs, name).get("restartPolicy") == RestartPolicy.EXIT_CODE
    )
    return Subject(
        kind=shape.kind,
        name=key.name,
        namespace=key.namespace,
        types={role: name for name, role in shape.roles.items()},
        has_master=any(role in status.roles for role in shape.masters),
        by_exit_code=frozenset(by_exit_code),
    )


def _build_selector(kind: str, role: str, manifest: Mapping[str, Any]) -> dict[str, str]:
    """The labels of the role's pods, for the subresource `scale`: a HorizontalPodAutoscaler finds the pods by them."""
    name = key_of(manifest).name
    if not name:
        return {}
    labels = {"job-name": job_label(name), "operator-name": f"{kind.lower()}-controller", "replica-type": role}
    return {"selector": ",".join(f"{_LABELS}/{label}={value}" for label, value in labels.items())}


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
