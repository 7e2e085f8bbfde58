"""`cleanPodPolicy`: which end of a job deletes its pods and services, and what else goes with them.

                Completed   Failed
    Always      deleted     deleted
    OnCompletion deleted    kept         (the default)
    OnFailure   kept        deleted
    Never       kept        kept
    Running     deleted if it runs, kept if it has ended (Kubeflow's)

As paddle-operator, but that "kept" keeps no survivor of a failed job running (they held GPUs for nothing): what still
runs is deleted, what has ended stays with its log. Parameter servers of a completed job do run on under "kept", as
the documents show (`Completed PS 2/2 0/2`). The ConfigMap goes with the job.
"""

from __future__ import annotations

from paddock.jobs.model import CleanPods, Job, Phase, Status
from paddock.jobs.policies.fates import Situation

_DELETING = {
    Phase.COMPLETED: (CleanPods.ALWAYS, CleanPods.ON_COMPLETION),
    Phase.FAILED: (CleanPods.ALWAYS, CleanPods.ON_FAILURE),
}


def read_situation(job: Job, status: Status) -> Situation:
    """The row group of the fate table that holds for the job, from what is recorded."""
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
    return Situation.FAILED_CLEAN if clean else Situation.FAILED_KEPT
