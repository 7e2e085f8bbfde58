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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from paddock.jobs.model import Exit, Job, Pod, PodPhase, Rank, Role, Status, Successes
from paddock.jobs.names import pod_name
from paddock.kube.times import Moment


def complete_gang(job: Job, status: Status, gang: Sequence[Pod]) -> tuple[Pod, ...]:
    """The recorded pods, `gang`, and one for each rank that has succeeded and has none any more."""
    if not status.succeeded:
        return tuple(gang)
    there = {pod.rank for pod in gang}
    cleared = list[Pod]()
    for role in job.roles:
        ranks = (Rank(role.name, index) for index in sorted(_find_indexes(role, status)))
        missing = [rank for rank in ranks if rank not in there]
        moments = _choose_moments(status.succeeded.get(role.name), len(missing), _read_moments(gang, role))
        cleared += (_build_cleared(job, status, *each) for each in zip(missing, moments, strict=True))
    return (*gang, *cleared)


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
    """The successes without those of these ranks (`worker-1`)."""
    forgotten = set(ranks)
    kept = {
        role: replace(known, indexes=frozenset(i for i in known.indexes if f"{role}-{i}" not in forgotten))
        for role, known in succeeded.items()
    }
    return {role: known for role, known in kept.items() if known.indexes}


def _choose_moments(known: Successes | None, count: int, told: Collection[Moment]) -> list[Moment | None]:
    """When each of so many ranks of a role ended: what is recorded of the role is true of them and of those that still
    have a pod, whose times are `told`."""
    if known is None or not count:
        return []
    lacks_first = known.first is not None and known.first not in told
    # Of one rank alone that has neither time any more, the later one: it makes no other end too late.
    if lacks_first and (count > 1 or known.last in told):
        return [known.first, *[known.last] * (count - 1)]
    return [known.last] * count


def _read_moments(gang: Iterable[Pod], role: Role) -> set[Moment]:
    ends = (pod.exit for pod in gang if pod.rank.role == role.name and pod.phase is PodPhase.SUCCEEDED)
    return {float(int(end.finished)) for end in ends if end is not None and end.finished is not None}


def _is_vouched(pod: Pod) -> bool:
    return pod.phase is PodPhase.SUCCEEDED and not pod.deleting and not pod.disrupted and not pod.cleared


def _join(role: Role, status: Status, pods: Sequence[Pod]) -> Successes:
    known = status.succeeded.get(role.name, Successes(frozenset()))
    finished = (pod.exit.finished for pod in pods if pod.exit is not None and pod.exit.finished is not None)
    moments = [float(int(moment)) for moment in finished]
    last = max(moments if known.last is None else [*moments, known.last], default=None)
    first = min(moments if known.first is None else [*moments, known.first], default=None)
    return Successes(_find_indexes(role, status) | {pod.rank.index for pod in pods}, last, first)


def _find_indexes(role: Role, status: Status) -> frozenset[int]:
    known = status.succeeded.get(role.name)
    if known is None or role.serves:
        return frozenset()
    return frozenset(index for index in known.indexes if index < role.replicas)


def _build_cleared(job: Job, status: Status, rank: Rank, finished: Moment | None) -> Pod:
    return Pod(
        name=pod_name(job, rank),
        uid="",
        rank=rank,
        attempt=status.attempt,
        renewal=status.renewal(rank),
        phase=PodPhase.SUCCEEDED,
        exit=Exit(0, finished=finished),
    )
