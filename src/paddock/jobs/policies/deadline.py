"""`runPolicy.activeDeadlineSeconds`: a job that is still active so long after all its pods first ran has failed.

The time counts from `status.started`: waiting in a queue or for an environment does not count, and a restart does not
reset it. Suspension does, as in Kubernetes' Job.
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
