"""`runPolicy.suspend`: the job gives back its pods and keeps its place; taken back, it goes on as a new attempt.

Finished jobs ignore it (Kubernetes' Job, Kubeflow). The resumed gang is a new one, as its addresses are.
"""

from __future__ import annotations

from paddock.jobs import causes
from paddock.jobs.model import Job, Phase, Status
from paddock.jobs.policies.verdict import Verdict, plan_new_gang


def plan_suspension(job: Job, status: Status) -> Verdict | None:
    suspended = status.phase is Phase.SUSPENDED
    if job.policies.suspend and not suspended:
        return Verdict(Phase.SUSPENDED, causes.Suspended())
    if suspended and not job.policies.suspend:
        return plan_new_gang(causes.Resumed(), status.attempt)
    return None
