"""Why a job that failed was not restarted."""

from __future__ import annotations

import pytest

from jobs.gangs import build_job, cause
from paddock.jobs.model import CauseRecord, RestartPolicy
from paddock.jobs.views.restarts import explain_no_restart

FAILED = {"ranks": ["worker-0"], "code": 1}


@pytest.mark.parametrize(
    ("policy", "record", "said"),
    [
        (RestartPolicy.NEVER, cause("RankFailed", **FAILED), "restartPolicy of worker is Never"),
        (
            RestartPolicy.EXIT_CODE,
            cause("RankFailed", **FAILED),
            "restartPolicy ExitCode of worker restarts after exit codes from 128 on, not 1",
        ),
        (RestartPolicy.ON_FAILURE, cause("BackoffLimitExceeded", limit=0, **FAILED), "runPolicy.backoffLimit is 0"),
    ],
)
def test_the_reason_is_named(policy: RestartPolicy, record: CauseRecord, said: str) -> None:
    assert str(explain_no_restart(build_job(restart=policy), record)) == f"not restarted, because {said}"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (1, "it was restarted 1 time, as often as runPolicy.backoffLimit allows"),
        (3, "it was restarted 3 times, as often as runPolicy.backoffLimit allows"),
    ],
)
def test_a_limit_that_is_reached_is_named(limit: int, said: str) -> None:
    record = cause("BackoffLimitExceeded", limit=limit, **FAILED)
    assert str(explain_no_restart(build_job(), record)) == f"not restarted again, because {said}"


@pytest.mark.parametrize(
    "record",
    [cause("DeadlineExceeded", seconds=3), cause("RankFailed"), cause("RankFailed", ranks=["heter-0"]), cause("Moon")],
)
def test_a_cause_without_such_a_reason_has_none(record: CauseRecord) -> None:
    assert explain_no_restart(build_job(), record) is None
    assert explain_no_restart(None, record) is None
