"""All ranks or none: whether the attempt's gang is there, was there once, and is the one that the job asks for.

A rank without a pod is either not made yet, or was deleted. The two must not be confused: the first is created, the
second ends the attempt, as its peers hold the address of a pod that is gone. What tells them apart is recorded:

    Starting or Running is recorded only once every rank's pod of the attempt was seen (`conditions.build_phase`), and
    a new attempt resets it; and an attempt's ConfigMap is made only from the addresses of all its pods.

Either one present means that the gang was whole, and a missing rank was deleted. Before that nothing has trained
together, and making a pod again in the same attempt harms nobody. An operator doubts an absence (a cache may lag)
before it plans with it.
"""

from __future__ import annotations

from paddock.jobs import causes, pods
from paddock.jobs.model import Job, Observed, Phase, Rank, Status
from paddock.jobs.policies.verdict import Verdict, plan_new_gang


def missing_ranks(job: Job, status: Status, observed: Observed) -> tuple[Rank, ...]:
    """Ranks without a pod of the recorded attempt, in the job's order. A pod that is being deleted is still there."""
    there = {pod.rank for pod in observed.of_attempt(status.attempt)}
    return tuple(rank for rank in job.ranks() if rank not in there)


def was_whole(job: Job, status: Status, observed: Observed) -> bool:
    """Whether every rank's pod of the recorded attempt has existed at once, now or before."""
    if status.phase in (Phase.STARTING, Phase.RUNNING):
        return True
    name = pods.config_map_name(job, status.attempt)
    return any(child.name == name for child in observed.config_maps)


def plan_adoption(status: Status, observed: Observed) -> Verdict | None:
    """Pods of a later attempt than the recorded one: the record was lost, and an attempt never goes back."""
    latest = max((pod.attempt for pod in observed.pods), default=0)
    if latest <= status.attempt:
        return None
    return Verdict(Phase.PENDING, causes.PodsAdopted(latest), latest)


def plan_resize(job: Job, status: Status, observed: Observed) -> Verdict | None:
    """A gang of another size than the edited job asks for is made anew: peers know each other's number.

    The size that the gang was made for is recorded, as the wanted number of each role; pods of ranks that the job no
    longer has prove it too.
    """
    there = {pod.rank for pod in observed.of_attempt(status.attempt)}
    recorded = {name: counts.wanted for name, counts in status.roles.items() if counts.wanted}
    wanted = {role.name: role.replicas for role in job.roles if role.replicas}
    if there and (there - set(job.ranks()) or (recorded and recorded != wanted)):
        return plan_new_gang(causes.Resized(job.size), status.attempt)
    return None
