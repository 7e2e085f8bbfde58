"""Why a job that failed was not restarted, and which of its ranks a restart restarts."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.gangs import build_job, build_status, build_torch_job, cause
from paddock.jobs.model import CauseRecord, RestartPolicy, RestartScope
from paddock.jobs.sentences.explain import explain
from paddock.views.restarts import explain_no_restart, explain_restarts, explain_scope, name_scope

FAILED = {"ranks": ["worker-0"], "code": 1}
WRITTEN = {"spec": {"worker": {"template": {"spec": {"restartPolicy": "Never"}}}}}
OF_KUBEFLOW = {"spec": {"paddleReplicaSpecs": {"Worker": {"restartPolicy": "Never"}}}}
OF_TORCH = {"spec": {"pytorchReplicaSpecs": {"Worker": {"restartPolicy": "Never"}}}}
UNWRITTEN = {"spec": {"runPolicy": {"backoffLimit": 0}, "worker": {"template": {"spec": {}}}}}


@pytest.mark.parametrize(
    ("policy", "record", "said"),
    [
        (RestartPolicy.NEVER, cause("RankFailed", **FAILED), "restartPolicy of worker is Never"),
        (
            RestartPolicy.EXIT_CODE,
            cause("RankFailed", **FAILED),
            "restartPolicy ExitCode of worker restarts after exit codes from 128 on, not 1",
        ),
        (
            RestartPolicy.ON_FAILURE,
            cause("BackoffLimitExceeded", limit=0, error="ValueError: x", **FAILED),
            "runPolicy.backoffLimit is 0",
        ),
    ],
)
def test_the_reason_is_named(policy: RestartPolicy, record: CauseRecord, said: str) -> None:
    assert str(explain_no_restart(build_job(restart=policy), record, WRITTEN)) == f"not restarted, because {said}"


@pytest.mark.parametrize("error", ["", "ValueError: x"])
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_limit_that_is_reached_is_named_once(limit: int, error: str) -> None:
    record = cause("BackoffLimitExceeded", limit=limit, error=error, **FAILED)
    said = explain_no_restart(build_job(), record, {})
    assert f"{explain(record)} {said or ''}".count("backoffLimit") == 1


@pytest.mark.parametrize(
    "record",
    [cause("DeadlineExceeded", seconds=3), cause("RankFailed"), cause("RankFailed", ranks=["heter-0"]), cause("Moon")],
)
def test_a_cause_without_such_a_reason_has_none(record: CauseRecord) -> None:
    assert explain_no_restart(build_job(), record, {}) is None
    assert explain_no_restart(None, record, {}) is None


@pytest.mark.parametrize(
    ("manifest", "limit", "said"),
    [
        (UNWRITTEN, 0, "runPolicy.backoffLimit is 0 (`paddock run --restarts N` or the field sets another)"),
        (WRITTEN, 0, "restartPolicy of worker is Never"),
        (OF_KUBEFLOW, 0, "restartPolicy of worker is Never"),
        (OF_TORCH, 0, "restartPolicy of worker is Never"),
        (UNWRITTEN, 3, "restartPolicy of worker is Never"),
        (UNWRITTEN, None, "restartPolicy of worker is Never"),
    ],
)
def test_a_policy_that_nobody_wrote_is_not_the_reason(manifest: dict[str, Any], limit: int | None, said: str) -> None:
    job = build_job(backoff_limit=limit)
    assert str(explain_no_restart(job, cause("RankFailed", **FAILED), manifest)) == f"not restarted, because {said}"


ALONE = build_torch_job(scope=RestartScope.POD)
AGAIN = cause("RankRestarted", **FAILED)


def test_a_job_says_what_starts_again() -> None:
    together = "all ranks start again together when one fails or is lost"
    assert [str(name_scope(job)) for job in (build_torch_job(), build_job(scope=RestartScope.POD))] == [together] * 2
    assert str(name_scope(ALONE)) == (
        "a rank that fails or is lost starts again alone (paddock.dev/restart-scope: Pod)"
    )
    assert name_scope(build_job(workers=1)) is None


def test_a_job_says_which_ranks_were_started_again_alone() -> None:
    scope = str(name_scope(ALONE))
    assert str(explain_restarts(ALONE, build_status(ALONE))) == scope
    renewed = build_status(ALONE, renewals={"worker-1": 2, "master-0": 1, "worker-7": 1})
    assert str(explain_restarts(ALONE, renewed)) == f"{scope}; in this attempt master-0 (1×) and worker-1 (2×)"
    assert explain_restarts(build_job(workers=1), renewed) is None


def test_a_restart_says_what_it_restarts() -> None:
    alone = cause("RankRestarted", **FAILED, alone=["worker-0"])
    assert str(explain_scope(build_torch_job(), AGAIN)) == (
        "all ranks start again together; with the annotation paddock.dev/restart-scope: Pod one would start again alone"
    )
    assert str(explain_scope(ALONE, alone)) == (
        "the other ranks run on, as the annotation paddock.dev/restart-scope is Pod; without it all ranks start again"
    )
    assert str(explain_scope(build_job(), AGAIN)) == "all ranks start again together"
    assert explain_scope(build_torch_job(), cause("Completed", succeeded=1)) is None
    assert explain_scope(None, AGAIN) is None
