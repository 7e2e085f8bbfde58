from __future__ import annotations

from jobs.gangs import NOW, build_job, build_status, deleted, observe
from paddock.jobs.model import Counts, Phase
from paddock.jobs.plan import plan
from paddock.jobs.policies.ttl import ttl_left


def test_it_counts_from_the_end_and_zero_means_at_once() -> None:
    job = build_job(ttl=0.0)
    assert ttl_left(job, build_status(job, Phase.FAILED, finished=NOW), NOW) == 0
    assert ttl_left(job, build_status(job), NOW) is None
    assert ttl_left(build_job(), build_status(job, finished=NOW), NOW) is None


def test_a_clock_that_jumped_deletes_no_job_and_an_event_says_so() -> None:
    job = build_job(ttl=60.0)
    over = build_status(job, Phase.COMPLETED, finished=NOW - 7200, roles={"worker": Counts(2, succeeded=2)}, refs={})
    planned = plan(job, over, observe(job, (), services=(), clock_off=7100), NOW)
    assert (planned.status, planned.actions, planned.requeue_after) == (over, (), 60.0)
    assert ["jumped by 118m" in event.message for event in planned.events] == [True]
    assert deleted(plan(job, over, observe(job, (), services=()), NOW)) == ["job-uid"]
