"""`runPolicy.ttlSecondsAfterFinished`: so long after its end, the job itself is deleted, and its children with it."""

from __future__ import annotations

from paddock.jobs.actions import Delete
from paddock.jobs.model import Job, Status
from paddock.kube.times import Moment


def ttl_left(job: Job, status: Status, now: Moment) -> float | None:
    """Seconds until the finished job goes, 0 or less when it is time; None when it stays."""
    if job.policies.ttl is None or status.finished is None:
        return None
    return status.finished + job.policies.ttl - now


def plan_expiry(job: Job) -> Delete:
    return Delete(job.resource, job.key, job.uid)
