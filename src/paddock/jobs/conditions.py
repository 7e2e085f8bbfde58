"""Replica counts of a job and the phase of an unfinished one, from the pods of its current attempt.

Counts are paddle-operator's (v0.2 to v0.3.5); the phase follows one ordered rule, where paddle-operator iterated over a
map in random order. Within an attempt the phase goes one way: never back to Pending, and from Running only where ranks
start anew alone (`jobs.facts`). Terminal phases are decided in `policies`, not counted here; of a finished job the
counts alone follow its pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddock.jobs.model import Counts, Job, Phase, Pod, PodPhase, PodRef, Status

MOST_REFS = 500
"""Pods of a role that a status names. Each takes about 150 bytes, and the status of a job of 10,000 pods must stay
writable (etcd takes 1.5 MB)."""

_UNSTARTED = (PodPhase.PENDING, PodPhase.STARTING)


def build_counts(job: Job, pods: Sequence[Pod]) -> dict[str, Counts]:
    """Counts by role, a role without pods with zeros. `pods`: those of one attempt."""
    return {
        role.name: _count(role.replicas, [pod.phase for pod in pods if pod.rank.role == role.name])
        for role in job.roles
    }


def _count(wanted: int, phases: Sequence[PodPhase]) -> Counts:
    return Counts(
        wanted=wanted,
        pending=phases.count(PodPhase.PENDING),
        starting=phases.count(PodPhase.STARTING),
        running=phases.count(PodPhase.RUNNING),
        succeeded=phases.count(PodPhase.SUCCEEDED),
        failed=phases.count(PodPhase.FAILED),
    )


def build_refs(job: Job, pods: Sequence[Pod]) -> dict[str, tuple[PodRef, ...]]:
    """Which pods are counted, by role and in rank order; a role without any is left out."""
    refs: dict[str, list[PodRef]] = {}
    for pod in sorted((pod for pod in pods if not pod.cleared), key=lambda pod: pod.rank):
        found = refs.setdefault(pod.rank.role, [])
        if len(found) < MOST_REFS:
            found.append(PodRef(job.key.namespace, pod.name, pod.uid))
    return {role.name: tuple(refs[role.name]) for role in job.roles if role.name in refs}


def follow_pods(job: Job, status: Status, pods: Sequence[Pod], kept: Sequence[Pod]) -> Status:
    """The status of a finished job with the counts of the pods that are left, and the refs of those that clean-up
    keeps; nothing else changes.

    A pod counts as pending, starting or running as long as it is there; one that has ended counts for ever, as in
    Kubernetes' Job, but for those that clean-up ended. Kueue, `kubectl get` and `kubectl scale` read these numbers.
    `wanted` stays that of the gang.
    """
    left = build_counts(job, [pod for pod in pods if not (pod.deleting and pod.phase is PodPhase.FAILED)])
    refs = build_refs(job, kept)
    return replace(
        status,
        roles={name: _join(recorded, left.get(name, Counts())) for name, recorded in status.roles.items()},
        refs={name: refs[name] for name in status.roles if name in refs},
    )


def _join(recorded: Counts, left: Counts) -> Counts:
    # Pods that ended and were deleted are not told from those that are there: the larger number is the known one.
    return replace(
        left,
        wanted=recorded.wanted,
        succeeded=max(recorded.succeeded, left.succeeded),
        failed=max(recorded.failed, left.failed),
    )


def find_phase_of_invalid(previous: Phase) -> Phase:
    """The phase of a job whose manifest cannot be read. One that has begun keeps its phase."""
    return previous or Phase.INVALID


def as_unbegun(status: Status) -> Status:
    """The status to plan from: that of a job whose manifest was invalid from the first begins like a new job's."""
    return replace(status, phase=Phase.NONE) if status.phase is Phase.INVALID else status


def build_phase(previous: Phase, pods: Sequence[Pod], *, whole: bool) -> Phase:
    """Pending, Starting or Running. `whole`: every rank's pod of the attempt has been seen.

    Running: every rank has started, also when some have succeeded since. Starting: some have left Pending.
    """
    phases = [pod.phase for pod in pods]
    if not whole or not phases:
        return Phase.PENDING
    if not any(phase in _UNSTARTED for phase in phases):
        return Phase.RUNNING
    # Starting and Running record that every rank's pod existed, by which `policies.gang` tells a deleted pod from one
    # that was never created. So the phase stays Starting when all pods of the gang are Pending again.
    if all(phase is PodPhase.PENDING for phase in phases) and previous not in (Phase.STARTING, Phase.RUNNING):
        return Phase.PENDING
    return Phase.STARTING
