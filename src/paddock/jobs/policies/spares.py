"""Spare pods: a gang that is smaller than wanted asks for room by pods of the ranks that it lacks.

Only the scheduler knows whether there is room. So the ranks that a running gang lacks get their pods. These are what
the pod of a rank is, but for one thing: their containers wait for a ConfigMap that nobody makes, so nothing runs. Those
that get a node hold the room, and the gang begins again with them (`jobs.policies.elastic_size`): a spare pod is then
one of an earlier attempt, and makes way for the pod of its rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from paddock.jobs import causes
from paddock.jobs.actions import Create, Delete
from paddock.jobs.labels import SPARE_LABEL
from paddock.jobs.model import Asked, Job, Pod, PodPhase, Rank, Settings, Status
from paddock.jobs.objects.pods import build_pod, pod_name
from paddock.jobs.policies.children import plan_pod_delete
from paddock.jobs.policies.elastic_size import larger_left
from paddock.jobs.policies.fitting import find_elastic, fit
from paddock.jobs.policies.lacking import build_smaller, find_message
from paddock.jobs.queued import leave_group
from paddock.kube.meta import PODS, Key, Manifest
from paddock.kube.times import Moment

ASK_SECONDS = 5.0
"""At least so long after spare pods the next ones are asked for."""


@dataclass(frozen=True, slots=True)
class Spares:
    actions: tuple[Create | Delete, ...] = ()
    cause: causes.Cause | None = None  # why a gang that runs is smaller than wanted
    left: float | None = None  # seconds until the next look


def plan_spares(
    job: Job,
    status: Status,
    gang: Sequence[Pod],
    spares: Sequence[Pod],
    now: Moment,
    settings: Settings,
    claims: Mapping[str, str],
    asked: Asked | None,
) -> Spares:
    """What an unfinished job does about room for more ranks. `job`: fitted; `spares`: those of the attempt; `claims`:
    as in `build_pod`; `asked`: when spare pods were asked for last."""
    role = find_elastic(job)
    if role is None or job.elasticity is None or role.replicas >= role.wanted or not _runs(job, gang):
        return Spares(delete_spares(job, spares))
    bounds = job.elasticity
    wanted = {Rank(role.name, index) for index in range(role.replicas, role.wanted)}
    useless = [pod for pod in spares if pod.rank not in wanted or _kept_left(pod, now, settings) <= 0]
    missing = sorted(wanted - {pod.rank for pod in spares})
    begun = max((pod.started for pod in gang if pod.started is not None), default=now)
    # What a smaller gang was told before this attempt says nothing of now.
    refused = asked.refused if asked and missing and asked.at >= begun else ""
    said = find_message(spares) or refused
    cause = build_smaller(job, role.name, role.replicas, bounds, status, said)
    settling = begun + settings.elastic_settle - now
    if settling > 0:
        return Spares(delete_spares(job, useless), cause, settling)
    again = _ask_left(asked, now, settings) if missing else None
    # A quota or a webhook that refuses them says that there is no room, and nothing about a gang that trains.
    creates = (
        Create(PODS, SparePod(job, rank, status.attempt, settings, claims), optional=True)
        for rank in (missing if again == 0 else ())
    )
    looks = (again or None, _look_left(job, spares, now, settings))
    left = min((each for each in looks if each is not None), default=None)
    return Spares((*delete_spares(job, useless), *creates), cause, left)


def delete_spares(job: Job, spares: Sequence[Pod]) -> tuple[Delete, ...]:
    return tuple(plan_pod_delete(job, pod) for pod in spares if not pod.deleting)


@dataclass(frozen=True, slots=True)
class SparePod:
    """A `Recipe`, with the arguments of `build_spare`."""

    job: Job
    rank: Rank
    attempt: int
    settings: Settings
    claims: Mapping[str, str]

    @property
    def key(self) -> Key:
        return Key(self.job.key.namespace, pod_name(self.job, self.rank))

    def build(self) -> Manifest:
        return build_spare(self.job, self.rank, self.attempt, self.settings, self.claims)


def build_spare(job: Job, rank: Rank, attempt: int, settings: Settings, claims: Mapping[str, str]) -> Manifest:
    """The pod of a rank that the attempt does not have, whose containers never start."""
    pod = build_pod(fit(job, 0), rank, attempt, None, settings, 0, claims)
    pod["metadata"]["labels"][SPARE_LABEL] = "true"
    leave_group(pod["metadata"])
    never = {"configMapRef": {"name": f"{pod['metadata']['name']}-spare"}}
    for key in ("initContainers", "containers"):
        if pod["spec"].get(key):
            pod["spec"][key] = [{**each, "envFrom": [*(each.get("envFrom") or ()), never]} for each in pod["spec"][key]]
    return pod


def _ask_left(asked: Asked | None, now: Moment, settings: Settings) -> float:
    """Seconds until the pods that are missing are asked for: those that are refused, or made and deleted by somebody,
    are not made again at once."""
    return 0.0 if asked is None else max(0.0, asked.at + max(settings.elastic_settle, ASK_SECONDS) - now)


def _look_left(job: Job, spares: Sequence[Pod], now: Moment, settings: Settings) -> float | None:
    ends = [left for pod in spares if 0 < (left := _kept_left(pod, now, settings)) < inf]
    return min([*ends, *filter(None, [larger_left(job, spares, now, settings)])], default=None)


def _kept_left(pod: Pod, now: Moment, settings: Settings) -> float:
    """Seconds until the pod makes way for another one: of a pod that its kubelet has rejected, the next one is
    rejected as well."""
    if not pod.ended:
        return inf
    ended = pod.created if pod.exit is None or pod.exit.finished is None else pod.exit.finished
    return 0.0 if ended is None else ended + settings.elastic_settle - now


def _runs(job: Job, gang: Sequence[Pod]) -> bool:
    """Whether the attempt trains with all its ranks."""
    running = [pod for pod in gang if pod.phase is PodPhase.RUNNING and not pod.deleting]
    return len(running) == job.size
