"""A job without pods by its own wish or its queue's: `runPolicy.suspend`, and Kueue's admission (`jobs.queued`).

`suspend: true` deletes the pods of the job and keeps the job; false resumes it as a new attempt. Finished jobs ignore
it (Kubernetes' Job, Kubeflow).
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.model import Job, Phase, Pod, Status
from paddock.jobs.policies.idle_gpus import read_suspension
from paddock.jobs.policies.verdict import Verdict, plan_new_gang
from paddock.jobs.queued import find_pod_queue, find_queue


def plan_suspension(job: Job, status: Status) -> Verdict | None:
    suspended = status.phase is Phase.SUSPENDED
    if job.policies.suspend and not suspended:
        return Verdict(Phase.SUSPENDED, explain_suspension(job, status.attempt))
    # A resumed job is a new attempt, as its pods have new addresses.
    if suspended and not job.policies.suspend:
        return plan_new_gang(causes.Resumed(), status.attempt, size=0)
    return None


_GATED = "SchedulingGated"


def explain_suspension(job: Job, attempt: int = 0) -> causes.Cause:
    """Why a suspended job has no pods. Whether Kueue or a person has suspended it, the job does not tell; that its GPUs
    did nothing in this attempt, it does (`policies.idle_gpus`)."""
    if queue := find_queue(job):
        return causes.WaitingForQueue(queue)
    seconds = read_suspension(job.annotations, attempt)
    return causes.Suspended() if seconds is None else causes.SuspendedIdle(seconds)


def explain_gates(job: Job, gang: Sequence[Pod], cause: causes.Cause | None) -> causes.Cause | None:
    """`cause`, or the queue where the pods wait for it alone."""
    queue = find_pod_queue(job)
    waiting = [pod for pod in gang if not pod.node and not pod.ended]
    gated = bool(waiting) and all(pod.waiting is not None and pod.waiting[0] == _GATED for pod in waiting)
    return causes.WaitingForQueue(queue) if queue and gated else cause
