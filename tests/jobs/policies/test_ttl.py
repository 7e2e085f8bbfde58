from __future__ import annotations

from jobs.gangs import NOW, build_job, build_status
from paddock.jobs.actions import Delete
from paddock.jobs.model import Phase
from paddock.jobs.policies.ttl import plan_expiry, ttl_left


def test_it_counts_from_the_end_and_zero_means_at_once() -> None:
    job = build_job(ttl=0.0)
    assert ttl_left(job, build_status(job, Phase.FAILED, finished=NOW), NOW) == 0
    assert ttl_left(job, build_status(job), NOW) is None
    assert ttl_left(build_job(), build_status(job, finished=NOW), NOW) is None


def test_the_job_is_deleted_by_its_uid() -> None:
    job = build_job()
    assert plan_expiry(job) == Delete(job.resource, job.key, job.uid)
