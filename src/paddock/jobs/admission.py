"""Why a job in a queue of Kueue has no pods, or pods that wait (`jobs.queued`)."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.model import Job, Pod
from paddock.jobs.queued import find_pod_queue, find_queue

_GATED = "SchedulingGated"


def explain_suspension(job: Job) -> causes.Cause:
    """Why a suspended job has no pods. Whether Kueue or a person has suspended it, the job does not tell."""
    queue = find_queue(job)
    return causes.WaitingForQueue(queue) if queue else causes.Suspended()


def explain_gates(job: Job, gang: Sequence[Pod], cause: causes.Cause | None) -> causes.Cause | None:
    """`cause`, or the queue where the pods wait for it alone."""
    queue = find_pod_queue(job)
    waiting = [pod for pod in gang if not pod.node and not pod.ended]
    gated = bool(waiting) and all(pod.waiting is not None and pod.waiting[0] == _GATED for pod in waiting)
    return causes.WaitingForQueue(queue) if queue and gated else cause
