"""Ranks whose launchers form the group anew: such a rank comes, goes and is replaced while the others train on.

torchrun does that for the pods of an elasticPolicy, and PaddlePaddle's launcher at an etcd (`Framework.rejoins`). So
for these ranks

- a new number of replicas creates and deletes pods of the same attempt: the others form the group anew by themselves;
- a rank that is lost or fails starts again alone (`policies.one_pod`). It counts as ever; but a pod that was merely
  deleted is created again, as that harms no peer;
- the job runs as long as `minReplicas` of them do.

What is told of it is in `policies.lacking`.

The rank that opens the rendezvous is no such rank: without it all others end, so its loss is a new attempt of all. With
the annotation `paddock.dev/restart-scope: Gang` none is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import Job, Phase, Pod, PodPhase, Rank, RestartScope, Status


def rejoins(job: Job, rank: Rank) -> bool:
    return job.scope is not RestartScope.GANG and forms_anew(job, rank)


def forms_anew(job: Job, rank: Rank) -> bool:
    """Whether the launchers of the others agree by themselves on how many take part, with this rank or without it. Also
    where the annotation asks for restarts of the gang: it changes nothing in pods that are there."""
    return FRAMEWORKS[job.framework].rejoins(job, rank)


def all_rejoin(job: Job, ranks: Iterable[Rank]) -> bool:
    return all(rejoins(job, rank) for rank in ranks)


def find_surplus(job: Job, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Pods of ranks that the job no longer has, and that the others go on without."""
    ranks = set(job.ranks())
    return tuple(pod for pod in pods if pod.rank not in ranks and rejoins(job, pod.rank))


def find_leaving(job: Job, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Pods that were deleted, by somebody or for a smaller number of replicas: their ranks come again, whatever their
    programs made of the SIGTERM. Those that a node or a scheduler takes away tell why, or their node is not ready: they
    are losses, with their bound and their delay (`policies.restart`)."""
    deleted = (pod for pod in pods if pod.deleting and not pod.disrupted and pod.unheard is None)
    return tuple(pod for pod in deleted if rejoins(job, pod.rank))


def find_changed(job: Job, sizes: Mapping[str, int], there: Collection[Rank]) -> set[Rank]:
    """Ranks by which the gang, or the pods that are there, and the job differ. `sizes`: of the gang, by role; empty if
    nobody knows."""
    known = {Rank(role, index) for role, size in sizes.items() for index in range(size)}
    wanted = set(job.ranks())
    return (set(there) - wanted) | (known ^ wanted if known else set())


def runs_on(job: Job, status: Status, gang: Sequence[Pod]) -> bool:
    """Whether the group trains without some of its ranks: enough run, among them each that it needs. At the start, the
    ranks that are on their way to a node that they have are waited for. `gang`: the recorded pods."""
    elastic = job.launch.elastic
    running = {pod.rank for pod in gang if pod.phase is PodPhase.RUNNING and not pod.deleting}
    absent = [rank for rank in job.ranks() if rank not in running]
    if elastic is None or not absent or len(running) < max(1, elastic.least) or not all_rejoin(job, absent):
        return False
    coming = any(pod.node and pod.phase in (PodPhase.PENDING, PodPhase.STARTING) for pod in gang)
    return status.phase is Phase.RUNNING or not coming


def is_whole(job: Job, gang: Sequence[Pod]) -> bool:
    """Whether all ranks of a group that torchrun forms run: nothing is lost any more."""
    running = [pod for pod in gang if pod.phase is PodPhase.RUNNING and not pod.deleting]
    return job.launch.elastic is not None and len(running) == job.size
