"""`runPolicy.suspend`: true deletes the pods of the job and keeps the job; false resumes it as a new attempt.

Finished jobs ignore it (Kubernetes' Job, Kubeflow).
"""

from __future__ import annotations

from paddock.jobs import causes
from paddock.jobs.admission import explain_suspension
from paddock.jobs.model import Job, Phase, Status
from paddock.jobs.policies.verdict import Verdict, plan_new_gang


def plan_suspension(job: Job, status: Status) -> Verdict | None:
    suspended = status.phase is Phase.SUSPENDED
    if job.policies.suspend and not suspended:
        return Verdict(Phase.SUSPENDED, explain_suspension(job))
    # A resumed job is a new attempt, as its pods have new addresses.
    if suspended and not job.policies.suspend:
        return plan_new_gang(causes.Resumed(), status.attempt, size=0)
    return None
