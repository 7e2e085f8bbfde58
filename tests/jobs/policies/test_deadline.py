from __future__ import annotations

from jobs.gangs import NOW, build_job, build_status, observe
from paddock.jobs.model import Phase
from paddock.jobs.plan import plan
from paddock.jobs.policies.deadline import deadline_left, plan_deadline
from paddock.jobs.policies.verdict import LOOK_AGAIN

JOB = build_job(active_deadline=90.0)


def test_it_counts_from_the_moment_when_all_ran_for_the_first_time() -> None:
    assert deadline_left(JOB, build_status(JOB, started=NOW - 60), NOW) == 30
    assert deadline_left(JOB, build_status(JOB, started=None), NOW) is None
    assert deadline_left(build_job(), build_status(JOB), NOW) is None


def test_it_fails_the_job_when_it_has_come_and_not_before() -> None:
    status = build_status(JOB, started=NOW - 60)
    assert plan_deadline(JOB, status, NOW + 29.9, 0) is None
    verdict = plan_deadline(JOB, status, NOW + 30, 0)
    assert verdict is not None
    assert verdict.cause.args() == {"seconds": 90}


def test_a_clock_that_jumped_fails_no_job_and_the_job_says_so() -> None:
    late = build_status(JOB, started=NOW - 7200)
    planned = plan(JOB, late, observe(JOB, clock_off=7100), NOW)
    assert (planned.status.phase, planned.requeue_after) == (Phase.RUNNING, LOOK_AGAIN)
    assert planned.status.cause is not None and planned.status.cause.args == {"seconds": 7100}
    assert plan(JOB, planned.status, observe(JOB, clock_off=7100), NOW + 60).status == planned.status
    steady = plan(JOB, planned.status, observe(JOB), NOW + 60).status
    assert steady.cause is not None and steady.cause.reason == "DeadlineExceeded"
    assert plan(JOB, build_status(JOB), observe(JOB, clock_off=7100), NOW).status.cause is None, "nothing is late yet"
