from __future__ import annotations

from jobs.gangs import NOW, build_job, build_status
from paddock.jobs.policies.deadline import deadline_left, plan_deadline

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
