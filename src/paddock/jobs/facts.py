"""What one reconcile decides on: its inputs, and what follows from them for every policy. Read once by `jobs.plan`."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.jobs.model import Job, Observed, Pod, Rank, Settings, Status
from paddock.jobs.policies import gang, losses, lost, one_pod
from paddock.kube.times import Moment


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs of one reconcile, and what follows from them. `gang`: pods of the recorded attempt; `older`: pods of
    earlier attempts; `replaced`: those of this attempt whose ranks have, or get, another; `missing`: ranks without a
    pod; `whole`: every rank has had its pod in this attempt, so a missing pod was deleted; `overdue`: what to do about
    pods that should be gone by now; `losses`: those in a row until now."""

    job: Job
    status: Status
    observed: Observed
    now: Moment
    settings: Settings
    gang: tuple[Pod, ...]
    older: tuple[Pod, ...]
    replaced: tuple[Pod, ...]
    missing: tuple[Rank, ...]
    whole: bool
    overdue: lost.Overdue
    losses: losses.Losses


def read_facts(job: Job, status: Status, observed: Observed, now: Moment, settings: Settings) -> Facts:
    missing, current = gang.missing_ranks(job, status, observed), observed.gang(status)
    whole = not missing or gang.was_whole(job, status, observed)
    begun = one_pod.find_begun(job, status, current, missing if whole else ())
    return Facts(
        job=job,
        status=status,
        observed=observed,
        now=now,
        settings=settings,
        gang=current,
        older=tuple(pod for pod in observed.pods if pod.attempt < status.attempt),
        replaced=one_pod.replaced_pods(status, observed),
        missing=missing,
        whole=whole,
        overdue=lost.plan_overdue(job, observed, now),
        losses=losses.read_losses(status, begun, now, settings),
    )
