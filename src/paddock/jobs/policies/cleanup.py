"""`cleanPodPolicy`: which end of a job deletes its pods and services.

                Completed   Failed
    Always      deleted     deleted
    OnCompletion deleted    kept         (the default)
    OnFailure   kept        deleted
    Never       kept        kept
    Running     deleted if it runs, kept if it has ended (Kubeflow's)

As in paddle-operator, with one difference: "kept" does not keep the live pods of a failed job; they are deleted, and
ended pods stay with their logs. Parameter servers of a completed job do run on under "kept". The ConfigMap is deleted
with the job.
"""

from __future__ import annotations

from paddock.jobs.model import CleanPods, Job, Phase, Status
from paddock.jobs.policies.fates import Situation

_DELETING = {
    Phase.COMPLETED: (CleanPods.ALWAYS, CleanPods.ON_COMPLETION),
    Phase.FAILED: (CleanPods.ALWAYS, CleanPods.ON_FAILURE),
}


def read_situation(job: Job, status: Status) -> Situation:
    """The recorded job's group of rows in the fate table."""
    if job.deleting:
        return Situation.TERMINATING
    if status.phase is Phase.SUSPENDED:
        return Situation.SUSPENDED
    if not status.phase.terminal:
        return Situation.ACTIVE
    clean = job.policies.clean_pods in _DELETING[status.phase]
    if status.phase is Phase.COMPLETED:
        if job.policies.clean_pods is CleanPods.RUNNING:
            return Situation.COMPLETED_STOPPED
        return Situation.COMPLETED_CLEAN if clean else Situation.COMPLETED_KEPT
    # FAILED_KEPT ends the live pods anyway, so Kubeflow's Running needs no row of its own for a failed job.
    return Situation.FAILED_CLEAN if clean else Situation.FAILED_KEPT
