"""All ranks or none: whether the attempt's gang exists, once existed whole, and has the size that the job asks for.

A rank without a pod was either not created yet, or deleted. The two differ: the first is created, the second ends the
attempt, as its peers hold the address of a pod that is gone. The record tells them apart (`was_whole`): once the gang
was whole, a missing rank was deleted. Before that no ranks have trained together, and a pod can safely be created again
in the same attempt. An operator confirms an absence by a live GET (a cache may lag).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from paddock.jobs import causes
from paddock.jobs.actions import EventNote
from paddock.jobs.model import Job, Observed, Phase, Pod, Rank, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.objects.pods import find_size, find_sizes
from paddock.jobs.objects.schedulers import find_other_schedulers
from paddock.jobs.policies.fitting import find_elastic, fit
from paddock.jobs.policies.verdict import Verdict, plan_new_gang
from paddock.jobs.rejoining import all_rejoin, find_changed, forms_anew


def missing_ranks(job: Job, gang: Iterable[Pod]) -> tuple[Rank, ...]:
    """Ranks without a recorded pod, in the job's order. `gang`: as in `jobs.facts`, so a rank that has succeeded is
    there; so is a pod that is being deleted."""
    there = {pod.rank for pod in gang}
    return tuple(rank for rank in job.ranks() if rank not in there)


def was_whole(job: Job, status: Status, observed: Observed) -> bool:
    """Whether every rank's pod of the recorded attempt has existed at once, now or before."""
    # These are recorded only once every rank's pod was seen (`conditions.build_phase`); a new attempt resets them.
    if status.phase in (Phase.STARTING, Phase.RUNNING):
        return True
    # An attempt's ConfigMap is created only from the addresses of all its pods. Other jobs have none.
    if not pods.needs_config_map(job):
        return False
    name = pods.find_config_map(job, status.attempt, observed.pods)
    return any(child.name == name for child in observed.config_maps)


def plan_adoption(job: Job, status: Status, observed: Observed) -> Verdict | None:
    """Adopts pods of a later attempt than the recorded one, or of a later renewal: the record was lost, and both
    numbers only grow. So was the size of the gang, which is taken from its pods. Who made them had made all of them, or
    would have: a rank without a pod was deleted, and a gang of another size than the job may have is recreated."""
    latest = max(status.attempt, *(pod.attempt for pod in observed.pods), 0)
    known = status.renewals if latest == status.attempt else {}
    pods = observed.of_attempt(latest)
    newer = {str(pod.rank): pod.renewal for pod in pods if pod.renewal > known.get(str(pod.rank), 0)}
    if latest == status.attempt and not newer:
        return None
    sizes = find_size(pods)
    size = _find_gang_size(job, sizes)
    if not all_rejoin(job, find_changed(fit(job, size), sizes, ())):
        return plan_new_gang(causes.Resized(fit(job, 0).size), latest, size=0)
    renewals, told = {**known, **newer}, size if sizes else None
    # `Starting` records that every rank's pod has existed (`was_whole`).
    return Verdict(Phase.STARTING, causes.PodsAdopted(latest), latest, renewals=renewals, size=told)


def _find_gang_size(job: Job, sizes: Mapping[str, int]) -> int:
    """The `Status.gang_size` of a gang with these sizes: 0 unless it has fewer ranks than the manifest asks for."""
    role = find_elastic(job)
    told = 0 if role is None else sizes.get(role.name, 0)
    return told if role is not None and told < role.wanted else 0


def plan_resize(job: Job, status: Status, observed: Observed) -> Verdict | None:
    """Recreates a gang whose size is not the edited job's: each rank was started with the number of its peers.

    The size of the gang is recorded as the wanted number of each role, and each pod tells the one that it was started
    with. Both count: whoever made pods for another size may have crashed before its record, and the size that is
    recorded may be wanted again since. Pods of ranks that the job no longer has show another size too. Ranks that
    rejoin (`jobs.rejoining`) come and go within the attempt.
    """
    pods = observed.of_attempt(status.attempt)
    there = {pod.rank for pod in pods} | status.find_succeeded()
    told = find_sizes(pods)
    changed = find_changed(job, status.sizes, there)
    # Pods of an operator that told them no size, before its first record: they were started with the size of then.
    if not (status.sizes or told) and status.phase is Phase.NONE and job.generation > 1:
        changed |= set(job.ranks())
    resized = there and changed and not all_rejoin(job, changed)
    if resized or _waits_for_others(job, told):
        return plan_new_gang(causes.Resized(job.size), status.attempt, size=0)
    return None


def _waits_for_others(job: Job, told: Iterable[Mapping[str, int]]) -> bool:
    """Whether a pod that was started with one of these sizes waits for other peers than the job has. A launcher that
    agrees with the others on who takes part does not."""
    return any(not forms_anew(job, rank) for size in told for rank in find_first_changed(job, size))


def find_first_changed(job: Job, size: Mapping[str, int]) -> Iterator[Rank]:
    """The first rank of each role that the job has and the size has not, or the other way round: the others are as it.
    A size is what a pod says, so its ranks are never counted one by one."""
    wanted = {role.name: role.replicas for role in job.roles}
    for role in sorted({*wanted, *size}):
        ranks = (wanted.get(role, 0), size.get(role, 0))
        if ranks[0] != ranks[1]:
            yield Rank(role, min(ranks))


def explain_no_gang(job: Job, settings: Settings) -> tuple[EventNote, ...]:
    """For a job that is new: a scheduler that one of its templates names does not place gangs, so it has no PodGroup.
    The reason is training-operator's, which makes a PodGroup all the same."""
    others = find_other_schedulers(job, settings)
    if not others:
        return ()
    said = (
        f"a template names the scheduler {' and '.join(others)}, and gangs are placed by {settings.gang_scheduler}: no "
        "PodGroup is made, and the pods of this job are placed one by one"
    )
    return (EventNote("SetPodTemplateSchedulerName", said, "Warning"),)
