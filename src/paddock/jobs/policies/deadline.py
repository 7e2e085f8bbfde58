"""`runPolicy.activeDeadlineSeconds`: a job that is still active so long after all its pods first ran has failed.

The time counts from `status.started`: waiting in a queue or for an environment does not count, and a restart does not
reset it. Suspension does, as in Kubernetes' Job. While nobody knows what time it is (`Observed.clock_off`), no job
fails.
"""

from __future__ import annotations

from paddock.jobs import causes
from paddock.jobs.model import Job, Status
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, plan_failure
from paddock.kube.times import Moment


def deadline_left(job: Job, status: Status, now: Moment) -> float | None:
    """Seconds until the deadline, 0 or less when it has passed; None without one, or before the start."""
    if job.policies.active_deadline is None or status.started is None:
        return None
    return status.started + job.policies.active_deadline - now


def next_look(job: Job, status: Status, now: Moment, clock_off: int) -> float | None:
    """Seconds until the deadline may have passed."""
    left = deadline_left(job, status, now)
    return LOOK_AGAIN if clock_off and left is not None and left <= 0 else left


def plan_doubt(job: Job, status: Status, now: Moment, clock_off: int) -> causes.ClockUnsure | None:
    """Why a job whose deadline has passed goes on; None if it has not, or if the clock is sure."""
    left = deadline_left(job, status, now)
    return causes.ClockUnsure(clock_off) if clock_off and left is not None and left <= 0 else None


def plan_deadline(job: Job, status: Status, now: Moment, clock_off: int) -> Verdict | None:
    left = deadline_left(job, status, now)
    if left is None or left > 0 or clock_off:
        return None
    return plan_failure(causes.DeadlineExceeded(int(job.policies.active_deadline or 0)))
