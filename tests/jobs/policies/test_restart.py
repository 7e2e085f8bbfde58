from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_status, cause
from paddock.jobs.model import Phase, Rank, RestartPolicy
from paddock.jobs.policies.backoff import delay_left, restart_delay
from paddock.jobs.policies.restart import Losses, plan_restart
from paddock.jobs.policies.root_cause import Death, Kind

NO_LOSSES = Losses(0, 100)
DEATH = Death(Rank("worker", 1), Kind.ERROR, 1, int(NOW))


def test_the_delay_doubles_from_10_seconds_to_5_minutes() -> None:
    assert [restart_delay(number) for number in (1, 2, 3, 4, 5, 6, 7, 10**9)] == [10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        (RestartPolicy.NEVER, 137, False),
        (RestartPolicy.EXIT_CODE, 0, False),
        (RestartPolicy.EXIT_CODE, None, False),
    ],
)
def test_the_roles_policy_decides(policy: RestartPolicy, code: int | None, again: bool) -> None:
    job = build_job(restart=policy)
    verdict = plan_restart(job, build_status(job), [replace(DEATH, code=code)], NO_LOSSES)
    assert verdict is not None
    assert (verdict.phase is Phase.RESTARTING, verdict.at_fault) == (again, again)


def test_a_restart_is_numbered_and_delayed_by_restarts_not_by_attempts() -> None:
    job = build_job(restart=RestartPolicy.ON_FAILURE, backoff_limit=5)
    verdict = plan_restart(job, build_status(job, restarts=1, attempt=50), [DEATH], NO_LOSSES)
    assert verdict is not None
    assert verdict.attempt == 51
    assert verdict.cause.args() == {"ranks": ["worker-1"], "code": 1, "restart": 2, "limit": 5, "delay": 20}


def test_the_delay_counts_from_the_recorded_cause_and_needs_no_memory() -> None:
    status = build_status(build_job(), Phase.RESTARTING, cause=cause("RankRestarted", NOW, delay=20))
    assert delay_left(status, NOW + 5) == 15
    assert delay_left(status, NOW + 20) == 0
    assert delay_left(replace(status, phase=Phase.PENDING), NOW) == 0


@pytest.mark.parametrize(("ahead", "left"), [(5, 25), (299, 300), (301, 0), (3600, 0), (1e9, 0)])
def test_a_clock_that_jumped_back_does_not_delay_a_restart_for_long(ahead: float, left: float) -> None:
    status = build_status(build_job(), Phase.RESTARTING, cause=cause("RankRestarted", NOW + ahead, delay=20))
    assert delay_left(status, NOW) == left
