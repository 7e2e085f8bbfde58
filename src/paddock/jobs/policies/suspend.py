"""A job without pods by its own wish or its queue's: `runPolicy.suspend`, and Kueue's admission (`jobs.queued`).

`suspend: true` deletes the pods of the job and keeps the job; false resumes it as a new attempt. Finished jobs ignore
it (Kubernetes' Job, Kubeflow).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddock.jobs import causes, people
from paddock.jobs.model import CauseRecord, Job, Phase, Pod, Settings, Status
from paddock.jobs.people import find_changer
from paddock.jobs.policies.idle_gpus import read_suspension
from paddock.jobs.policies.verdict import Verdict, plan_new_gang
from paddock.jobs.queued import NOT_HELD, find_pod_queue, find_queue, is_left_alone
from paddock.jobs.sentences.cause_args import text_of


def plan_suspension(job: Job, status: Status) -> Verdict | None:
    suspended = status.phase is Phase.SUSPENDED
    if job.policies.suspend and not suspended:
        return Verdict(Phase.SUSPENDED, explain_suspension(job, status))
    # A resumed job is a new attempt, as its pods have new addresses.
    if suspended and not job.policies.suspend:
        who = find_changer(job.annotations, people.RESUMED, job.generation)
        return plan_new_gang(causes.Resumed(who=who or None), status.attempt, size=0)
    return None


_GATED = "SchedulingGated"


def explain_suspension(job: Job, status: Status) -> causes.Cause:
    """Why a suspended job has no pods. Whether Kueue or a person has suspended it, the job does not tell; that its GPUs
    did nothing in this attempt, it does (`policies.idle_gpus`). Who has: the name that was recorded with the suspension
    stays, as edits while it lasts are others' changes."""
    if queue := find_queue(job):
        return causes.WaitingForQueue(queue)
    seconds = read_suspension(job.annotations, status.attempt)
    if seconds is not None:
        return causes.SuspendedIdle(seconds)
    recorded = status.cause
    if status.phase is Phase.SUSPENDED and recorded is not None and recorded.reason == causes.Suspended.__name__:
        return causes.Suspended(who=text_of(recorded.args, "who") or None)
    return causes.Suspended(who=find_changer(job.annotations, people.SUSPENDED, job.generation) or None)


def explain_gates(
    job: Job, gang: Sequence[Pod], cause: causes.Cause | None, recorded: CauseRecord | None, settings: Settings
) -> causes.Cause | None:
    """`cause`, or the queue where the pods wait for it alone. `recorded`: of a gang that Kueue has stopped before, it
    tells why."""
    queue = find_pod_queue(job, settings)
    waiting = [pod for pod in gang if not pod.node and not pod.ended]
    gated = bool(waiting) and all(pod.waiting is not None and pod.waiting[0] == _GATED for pod in waiting)
    stopped = _read_stop(recorded)
    # The pods of the next gang are being made; the reason that the gang before was stopped for must not get lost.
    made = isinstance(cause, causes.WaitingForPods) and bool(stopped) and gated == bool(waiting)
    if not queue or is_left_alone(gang) or not (gated or made):
        return cause
    return causes.WaitingForQueue(queue, **stopped)


def _read_stop(recorded: CauseRecord | None) -> dict[str, Any]:
    """What is kept of an eviction until the next gang is admitted: fields of `WaitingForQueue`."""
    if recorded is None or recorded.reason not in (causes.EvictedByQueue.__name__, causes.WaitingForQueue.__name__):
        return {}
    args = recorded.args
    why, by, due = args.get("evicted") or args.get("why"), args.get("by"), args.get("due")
    if not isinstance(why, str):
        return {}
    uids = tuple(map(str, by)) if isinstance(by, list | tuple) else None
    return {"evicted": why, "by": uids, "due": due if isinstance(due, str) else None}


def explain_ungated(job: Job, cause: causes.Cause | None, settings: Settings) -> causes.Cause | None:
    """The cause of pods that were refused, or the queue, where the operator did not make them as Kueue would not hold
    them."""
    if not isinstance(cause, causes.ObjectsRefused) or cause.message != NOT_HELD:
        return cause
    queue = find_pod_queue(job, settings)
    return causes.QueueNotInForce(queue, cause.message, cause.objects) if queue else None
