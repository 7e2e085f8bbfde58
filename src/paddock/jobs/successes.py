"""The ranks that have succeeded stay succeeded, whatever becomes of their pods.

Pods that have ended are cleared away by others while their peers train on: by Kubernetes' garbage collector
(`--terminated-pod-gc-threshold`, or with the node that an autoscaler removes), by a cron job, by hand. So a success is
recorded (`Status.succeeded`) together with the counts, and stands until the next attempt; Kubernetes' Job has a
finalizer on each pod for the same reason. In a decision a recorded rank without a pod has one that has succeeded
(`Pod.cleared`), so every policy sees the gang as it was. Such a pod is never an object: it has no UID, nothing refers
to it, and nothing deletes it.

A record that is lost falls back to the pods. Not recorded are

- ranks that serve: their end is judged against the workers', and is no success of its own (`policies.success`);
- a program that ended well after somebody asked for its end: on a node that is drained it may save and exit with 0
  before its work is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from paddock.jobs.model import Exit, Job, Pod, PodPhase, Rank, Role, Status, Successes
from paddock.jobs.names import pod_name


def complete_gang(job: Job, status: Status, gang: Sequence[Pod]) -> tuple[Pod, ...]:
    """The recorded pods, `gang`, and one for each rank that has succeeded and has none any more."""
    there = {pod.rank for pod in gang} if status.succeeded else set()
    ranks = (Rank(role.name, index) for role in job.roles for index in _find_indexes(role, status))
    return (*gang, *(_build_cleared(job, status, rank) for rank in ranks if rank not in there))


def read_successes(job: Job, status: Status, gang: Sequence[Pod]) -> Mapping[str, Successes]:
    """What to record: what is recorded, and what the pods tell now. Ranks that the job no longer has are left out: one
    that comes back begins anew."""
    now = dict[str, list[Pod]]()
    for pod in gang:
        if _is_vouched(pod):
            now.setdefault(pod.rank.role, []).append(pod)
    roles = {role.name: _join(role, status, now.get(role.name, ())) for role in job.roles if not role.serves}
    return {name: found for name, found in roles.items() if found.indexes}


def forget(succeeded: Mapping[str, Successes], ranks: Iterable[str]) -> Mapping[str, Successes]:
    """Without these ranks (`worker-1`)."""
    forgotten = set(ranks)
    kept = {
        role: replace(known, indexes=frozenset(i for i in known.indexes if f"{role}-{i}" not in forgotten))
        for role, known in succeeded.items()
    }
    return {role: known for role, known in kept.items() if known.indexes}


def _is_vouched(pod: Pod) -> bool:
    return pod.phase is PodPhase.SUCCEEDED and not pod.deleting and not pod.disrupted and not pod.cleared


def _join(role: Role, status: Status, pods: Sequence[Pod]) -> Successes:
    known = status.succeeded.get(role.name, Successes(frozenset()))
    finished = (pod.exit.finished for pod in pods if pod.exit is not None and pod.exit.finished is not None)
    moments = [float(int(moment)) for moment in finished]
    last = max(moments if known.last is None else [*moments, known.last], default=None)
    return Successes(_find_indexes(role, status) | {pod.rank.index for pod in pods}, last)


def _find_indexes(role: Role, status: Status) -> frozenset[int]:
    known = status.succeeded.get(role.name)
    if known is None or role.serves:
        return frozenset()
    return frozenset(index for index in known.indexes if index < role.replicas)


def _build_cleared(job: Job, status: Status, rank: Rank) -> Pod:
    return Pod(
        name=pod_name(job, rank),
        uid="",
        rank=rank,
        attempt=status.attempt,
        renewal=status.renewal(rank),
        phase=PodPhase.SUCCEEDED,
        exit=Exit(0, finished=status.succeeded[rank.role].last),
    )
