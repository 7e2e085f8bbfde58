"""When a gang takes another size: the next attempt has fewer ranks, or more.

Fewer: some ranks have no room `Settings.elastic_wait` seconds after the last pod of the gang was created, and those
that have are enough (`Elasticity.least`). That there is no room is said by a scheduler, or by a quota that refuses the
pod. A pod that waits for its back-off, whose creation failed, or that somebody has deleted is created first.

More: pods that hold room for further ranks (`jobs.policies.spares`) are ready. Neither is a restart or a loss: the
program has done nothing wrong, and goes on from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paddock.jobs import causes
from paddock.jobs.model import Job, Pod, Rank, Refusal, Settings, Status
from paddock.jobs.objects.pods import pod_name
from paddock.jobs.policies.fitting import find_elastic
from paddock.jobs.policies.verdict import Verdict, plan_new_gang
from paddock.jobs.policies.wake import NO_CONFIG_MAP
from paddock.kube.times import Moment

GROW_WAIT = 10.0
"""Seconds that the last spare pod must have had its node, also where all the room is there. A job that restarts frees
its room for a moment, and two elastic jobs would take it from each other again and again."""


def plan_size(
    job: Job,
    status: Status,
    gang: Sequence[Pod],
    spares: Sequence[Pod],
    now: Moment,
    settings: Settings,
    refused: Refusal | None = None,
) -> Verdict | None:
    """`job`: fitted to the recorded size; `gang`: the pods of the attempt; `spares`: those that hold room for more;
    `refused`: what the API server did not create."""
    left = smaller_left(job, gang, now, settings, refused)
    if left is not None and left <= 0:
        return _take(job, status, len(_placed_of_role(job, gang)), grows=False, settings=settings)
    left = larger_left(job, spares, now, settings)
    if left is not None and left <= 0:
        return _take(job, status, _find_larger(job, spares), grows=True, settings=settings)
    return None


def smaller_left(
    job: Job, gang: Sequence[Pod], now: Moment, settings: Settings, refused: Refusal | None = None
) -> float | None:
    """Seconds until the gang begins again with the ranks that have room; None if it has room for all, or for too
    few."""
    role, bounds = find_elastic(job), job.elasticity
    if role is None or bounds is None:
        return None
    there, placed = [pod for pod in gang if not pod.deleting], find_placed(gang)
    others = sum(pod.rank.role != role.name for pod in placed)
    mine = len(_placed_of_role(job, gang))
    enough = others == job.size - role.replicas and bounds.least <= mine < role.replicas
    absent = {rank for rank in job.ranks() if rank.role == role.name} - {pod.rank for pod in there}
    if not enough or (absent and not _refuses(job, refused, absent)):
        return None
    # One that was made again may have its room in a moment, so the youngest counts.
    return max(pod.created or 0.0 for pod in there) + settings.elastic_wait - now


def _refuses(job: Job, refused: Refusal | None, absent: Iterable[Rank]) -> bool:
    """Whether a quota or a webhook refuses a pod of these ranks: those after it are not tried."""
    if refused is None or refused.tries:
        return False
    return any(f"Pod {pod_name(job, rank)}" in refused.objects for rank in absent)


def larger_left(job: Job, spares: Sequence[Pod], now: Moment, settings: Settings) -> float | None:
    """Seconds until the gang begins again with the spare pods that are ready; None if none is."""
    role, ready = find_elastic(job), find_ready(spares)
    if role is None or _find_larger(job, spares) <= role.replicas:
        return None
    # A pod without the time was placed a moment ago: its kubelet has not written it yet.
    placed = [now if pod.placed is None else pod.placed for pod in ready]
    if role.replicas + len(ready) >= role.wanted:
        return max(placed) + min(GROW_WAIT, settings.elastic_settle) - now
    # The first of them holds room that is used by nobody, so the rest has to come soon.
    return min(placed) + settings.elastic_settle - now


def _find_larger(job: Job, spares: Sequence[Pod]) -> int:
    """How many ranks the elastic role can have: those that it has, and one for each spare pod that is ready. They are
    the first ones, so a name that a pod on its way out holds is the end: on a lost node that may be long."""
    role = find_elastic(job)
    assert role is not None, f"{job.key} is not elastic"
    leaving = {pod.rank.index for pod in spares if pod.deleting}
    size = min(role.replicas + len(find_ready(spares)), role.wanted)
    return next((index for index in range(role.replicas, size) if index in leaving), size)


def is_made_whole(job: Job, status: Status) -> bool:
    """Whether an edit asks for no more than the smaller gang has: then nothing is missing, and nothing was lost."""
    role = find_elastic(job)
    return role is not None and 0 < role.wanted <= status.gang_size


def remember_loss(job: Job, status: Status, verdict: Verdict) -> str:
    """The `Status.gang_loss` to record. A gang that is edited, resumed or whole again has lost nothing."""
    alone = bool(verdict.renewals)
    if (job.elasticity is None and job.launch.elastic is None) or (verdict.attempt is None and not alone):
        return status.gang_loss
    if isinstance(verdict.cause, causes.PodsLost):
        return verdict.cause.why
    if isinstance(verdict.cause, causes.Loss):
        return verdict.cause.reason
    restarts = causes.GangShrunk | causes.RankRestarted | causes.SilentRestarted
    goes_on = isinstance(verdict.cause, restarts) or verdict.size or alone
    return status.gang_loss if goes_on else ""


def find_placed(gang: Sequence[Pod]) -> tuple[Pod, ...]:
    """Pods with a node. One whose node is silent has its room: whether it is lost is for others to say."""
    return tuple(pod for pod in gang if pod.node and not pod.deleting)


def find_ready(spares: Sequence[Pod]) -> tuple[Pod, ...]:
    """Spare pods that hold room, and lack nothing but the ConfigMap that they wait for on purpose. Both kubelets say so
    once the image and the volumes are there."""
    return tuple(
        pod
        for pod in find_placed(spares)
        if not pod.ended and pod.unheard is None and pod.waiting is not None and pod.waiting[0] == NO_CONFIG_MAP
    )


def _placed_of_role(job: Job, gang: Sequence[Pod]) -> tuple[Pod, ...]:
    assert job.elasticity is not None, f"{job.key} is not elastic"
    return tuple(pod for pod in find_placed(gang) if pod.rank.role == job.elasticity.role)


def _take(job: Job, status: Status, size: int, *, grows: bool, settings: Settings) -> Verdict:
    role, bounds = find_elastic(job), job.elasticity
    assert role is not None and bounds is not None, f"{job.key} is not elastic"
    if grows:
        cause: causes.Cause = causes.GangGrown(role.name, size, role.wanted, bounds.least, bounds.most)
    else:
        waited = int(settings.elastic_wait)
        cause = causes.GangShrunk(role.name, size, role.wanted, bounds.least, bounds.most, waited)
    return plan_new_gang(cause, status.attempt, size=size if size < role.wanted else 0)
