"""`runPolicy.activeDeadlineSeconds`: a job that is still active so long after all its pods first ran has failed.

The clock starts with `status.started`: neither a queue nor an environment that is being built counts, and restarts do
not start it anew. Suspending does, as with Kubernetes' Job.
"""

from __future__ import annotations

from paddock.jobs import causes
from paddock.jobs.model import Job, Status
from paddock.jobs.policies.verdict import Verdict, plan_failure
from paddock.kube.times import Moment


def deadline_left(job: Job, status: Status, now: Moment) -> float | None:
    """Seconds until the deadline, 0 or less when it has passed; None without one, or before the start."""
    if job.policies.active_deadline is None or status.started is None:
        return None
    return status.started + job.policies.active_deadline - now


def plan_deadline(job: Job, status: Status, now: Moment) -> Verdict | None:
    left = deadline_left(job, status, now)
    if left is None or left > 0:
        return None
    return plan_failure(causes.DeadlineExceeded(int(job.policies.active_deadline or 0)))
