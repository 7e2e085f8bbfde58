"""All ranks or none: whether the attempt's gang exists, once existed whole, and has the size that the job asks for.

A rank without a pod was either not created yet, or deleted. The two differ: the first is created, the second ends the
attempt, as its peers hold the address of a pod that is gone. The record tells them apart (`was_whole`): once the gang
was whole, a missing rank was deleted. Before that no ranks have trained together, and a pod can safely be created again
in the same attempt. An operator confirms an absence by a live GET (a cache may lag).
"""

from __future__ import annotations

from collections.abc import Iterable

from paddock.jobs import causes
from paddock.jobs.actions import EventNote
from paddock.jobs.elastic.rejoining import all_rejoin, find_changed
from paddock.jobs.model import Job, Observed, Phase, Pod, Rank, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.objects.schedulers import find_other_schedulers
from paddock.jobs.policies.verdict import Verdict, plan_new_gang


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


def plan_adoption(status: Status, observed: Observed) -> Verdict | None:
    """Adopts pods of a later attempt than the recorded one, or of a later renewal: the record was lost, and both
    numbers only grow."""
    latest = max(status.attempt, *(pod.attempt for pod in observed.pods), 0)
    known = status.renewals if latest == status.attempt else {}
    newer = {
        str(pod.rank): pod.renewal for pod in observed.of_attempt(latest) if pod.renewal > known.get(str(pod.rank), 0)
    }
    if latest == status.attempt and not newer:
        return None
    return Verdict(Phase.PENDING, causes.PodsAdopted(latest), latest, renewals={**known, **newer})


def plan_resize(job: Job, status: Status, observed: Observed) -> Verdict | None:
    """Recreates a gang whose size is not the edited job's: each rank was started with the number of its peers.

    The size of the gang is recorded as the wanted number of each role. Pods of ranks that the job no longer has show
    another size too. Ranks that rejoin (`elastic.rejoining`) come and go within the attempt.
    """
    there = {pod.rank for pod in observed.of_attempt(status.attempt)}
    changed = find_changed(job, status, there)
    # Pods of which nothing was recorded yet, as that is put off a little, were started with the size of then.
    if status.phase is Phase.NONE and job.generation > 1:
        changed |= set(job.ranks())
    if there and changed and not all_rejoin(job, changed):
        return plan_new_gang(causes.Resized(job.size), status.attempt, size=0)
    return None


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
