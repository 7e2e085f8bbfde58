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


def needs_finish(job: Job, status: Status, now: Moment, clock_off: int) -> bool:
    """Whether the time to live has no end to count from: an older operator did not record it, or what is recorded
    cannot be, as it is to come or before the job was made. Somebody wrote that, and the job would stay for years or go
    at once. It is counted from now then, which is no earlier than right."""
    if job.policies.ttl is None:
        return False
    if status.finished is None:
        return True
    if clock_off:
        return False
    is_early = job.created is not None and job.created <= now and status.finished < job.created - _CLOCKS
    return is_early or status.finished > now + _CLOCKS


_CLOCKS = 300.0
"""Seconds by which the clocks of two machines may differ."""


def plan_expiry(job: Job) -> Delete:
    return Delete(job.resource, job.key, job.uid)
