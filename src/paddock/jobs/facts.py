"""What one reconcile decides on: its inputs, and what follows from them for every policy. Read once by `jobs.plan`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from paddock.jobs import rejoining
from paddock.jobs.model import Job, Observed, Phase, Pod, PodPhase, Rank, Settings, Status
from paddock.jobs.policies import ending, gang, lost, one_pod, restart
from paddock.jobs.successes import complete_gang
from paddock.kube.times import Moment


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs of one reconcile, and what follows from them."""

    job: Job
    status: Status
    observed: Observed  # without `spares`, `surplus` and pods that leave
    now: Moment
    settings: Settings
    gang: tuple[Pod, ...]
    """Pods of the recorded attempt, as far as the record does not know better: those that were cleared away since their
    ranks succeeded are among them (`jobs.successes`), and those of a gang that has run do run."""
    older: tuple[Pod, ...]  # of earlier attempts
    replaced: tuple[Pod, ...]  # of this attempt, whose ranks have, or get, another
    missing: tuple[Rank, ...]  # ranks without a pod
    whole: bool  # every rank has had its pod in this attempt, so a missing pod was deleted
    overdue: lost.Overdue  # what to do about pods that should be gone by now
    losses: restart.Losses  # those in a row until now
    gone: tuple[Rank, ...] = ()  # ranks whose pod was deleted, of those that others need
    delayed: Mapping[Rank, float] = field(default_factory=dict)  # ranks that start again alone, and not yet: seconds
    spares: tuple[Pod, ...] = ()  # of the attempt, which hold room for a larger gang
    surplus: tuple[Pod, ...] = ()  # of ranks that the job no longer has (`jobs.rejoining`)


def read_facts(job: Job, status: Status, observed: Observed, now: Moment, settings: Settings) -> Facts:
    everything = observed
    recorded = observed.of_attempt(status.attempt)
    spares = tuple(pod for pod in recorded if pod.spare)
    active = not status.phase.terminal and status.phase is not Phase.SUSPENDED and not job.policies.suspend
    surplus = rejoining.find_surplus(job, recorded) if active else ()
    leaving = _find_leaving(job, status, observed, now) if active else ()
    others = {*spares, *surplus}
    observed = _without(observed, {*others, *leaving})
    current = _find_gang(job, status, observed)
    missing = gang.missing_ranks(job, current)
    whole = not missing or gang.was_whole(job, status, observed)
    gone = tuple(rank for rank in missing if whole and not rejoining.rejoins(job, rank))
    begun = one_pod.find_begun(job, status, current, gone)
    return Facts(
        job=job,
        status=status,
        observed=observed,
        now=now,
        settings=settings,
        gang=current,
        older=tuple(pod for pod in observed.pods if pod.attempt < status.attempt),
        replaced=(*one_pod.replaced_pods(status, observed), *(pod for pod in leaving if pod not in others)),
        missing=missing,
        whole=whole,
        overdue=lost.plan_overdue(job, everything, now),
        losses=restart.read_losses(job, status, begun, now, settings),
        gone=gone,
        delayed=one_pod.find_delays(job, status, now),
        spares=spares,
        surplus=surplus,
    )


def _find_gang(job: Job, status: Status, observed: Observed) -> tuple[Pod, ...]:
    latest = max((pod.attempt for pod in observed.pods), default=0)
    # Of a finished job nothing is adopted: where the attempt was dropped from its record, the last pods are its own.
    if status.phase.terminal and latest > status.attempt:
        return tuple(pod for pod in observed.of_attempt(latest) if not pod.spare)
    return _as_run(job, status, complete_gang(job, status, observed.gang(status)))


def _as_run(job: Job, status: Status, gang: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """The pods of a gang that has run: each runs until it has ended or is deleted. A probe of readiness that fails for
    a while says nothing of the training, and a view that is late shows pods as they were before: each would change
    phase, counts and cause, and be written. A rank that rejoins starts anew in the same attempt. Another operator's
    Running, which has no generation, may be that of the Master alone, and one that was written by hand has no start."""
    if status.phase is not Phase.RUNNING or not status.observed_generation or status.started is None:
        return gang
    late = (PodPhase.PENDING, PodPhase.STARTING)
    return tuple(
        replace(pod, phase=PodPhase.RUNNING) if pod.phase in late and not rejoining.rejoins(job, pod.rank) else pod
        for pod in gang
    )


def _find_leaving(job: Job, status: Status, observed: Observed, now: Moment) -> tuple[Pod, ...]:
    """A rank that was seen to fail before somebody deleted its pod has failed."""
    failed = ending.recall(status, now).ranks
    return tuple(pod for pod in rejoining.find_leaving(job, observed.gang(status)) if str(pod.rank) not in failed)


def _without(observed: Observed, pods: Collection[Pod]) -> Observed:
    return replace(observed, pods=tuple(pod for pod in observed.pods if pod not in pods)) if pods else observed
