"""A scheduler that is not there: its pods stay Pending, and nobody writes an event or a condition on them.

Every scheduler that looks at a pod and does not bind it writes the condition PodScheduled. So pods that name another
scheduler than Kubernetes' own, and have no such condition `Settings.scheduler_wait` seconds after they were created,
wait for one that may not be installed; unless it has looked at another pod of the gang. Volcano says nothing of pods
whose PodGroup waits in its queue, but its scheduler writes the phase of that PodGroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.model import Child, Pod, PodPhase, Settings
from paddock.jobs.objects.schedulers import DEFAULT_SCHEDULER
from paddock.kube.meta import VOLCANO_POD_GROUPS
from paddock.kube.times import Moment


@dataclass(frozen=True, slots=True)
class Silence:
    cause: causes.SchedulerSilent | None = None
    left: float | None = None  # seconds until a pod that nobody has looked at has waited too long


def plan_silence(pods: Sequence[Pod], wanted: int, group: Child | None, now: Moment, settings: Settings) -> Silence:
    """`pods`: the current attempt's, of `wanted` ranks; `group`: the job's PodGroup."""
    if group is not None and (group.message or (group.resource == VOLCANO_POD_GROUPS and group.phase)):
        return Silence()
    heard = {pod.scheduler for pod in pods if pod.looked_at or pod.node}
    waiting = [pod for pod in pods if _waits(pod) and pod.scheduler not in heard]
    due = {pod: pod.created + settings.scheduler_wait for pod in waiting if pod.created is not None}
    late = sorted((pod for pod, moment in due.items() if moment <= now), key=lambda pod: pod.rank)
    left = min((moment - now for moment in due.values() if moment > now), default=None)
    if not late:
        return Silence(left=left)
    name = late[0].scheduler
    count = sum(pod.scheduler == name for pod in late)
    return Silence(causes.SchedulerSilent(name, count, wanted, int(settings.scheduler_wait)), left)


def _waits(pod: Pod) -> bool:
    return pod.scheduler not in ("", DEFAULT_SCHEDULER) and pod.phase is PodPhase.PENDING and not pod.deleting
