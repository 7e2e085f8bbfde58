"""Jobs in which each rank decides, as `paddock run` makes them: nobody is ended for being the last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    deleted,
    failed,
    gone,
    judge,
    observe,
    reason,
    succeeded,
    with_pod,
)
from paddock.jobs.actions import Plan
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import CleanPods, Job, Observed, Phase, Pod, PodPhase, Policies, RestartPolicy, Status, Success
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain

HOURS = 7 * 3600.0


TORCH = build_torch_job(restart=RestartPolicy.NEVER, clean_pods=CleanPods.RUNNING, success=Success(True))
BOUNDED = replace(TORCH, success=Success(True, 600))
GROUP = build_torch_job(masters=0, workers=3, one_decides=True, clean_pods=CleanPods.RUNNING, success=Success(True))
SERVED = build_job(ps=1, success=Success(True))


def look(status: Status, pods: tuple[Pod, ...], later: float = 0, job: Job = TORCH, off: int = 0) -> Plan:
    return plan(job, status, Observed(pods=pods, services=build_services(job), clock_off=off), NOW + later)


def end(job: Job, *ranks: str, ago: float = 0) -> tuple[Pod, ...]:
    pods = build_pods(job)
    for rank in ranks:
        pods = with_pod(pods, rank, succeeded(ago))
    return pods


@pytest.mark.parametrize(
    "done",
    [("master-0",), ("master-0", "worker-0"), ("worker-0",), ("worker-0", "worker-1")],
    ids="+".join,
)
def test_whoever_is_last_may_run_for_hours(done: tuple[str, ...]) -> None:
    """Before: a rank 0 that saved its model six minutes after the others was killed, and the job Completed."""
    status = build_status(TORCH)
    for later in (0.0, 31.0, 301.0, HOURS):
        found = look(status, end(TORCH, *done), later)
        assert (found.status.phase, reason(found), deleted(found)) == (Phase.RUNNING, "WaitingForLastRanks", [])
        assert found.status.cause is not None
        assert explain(found.status.cause).endswith(("the job waits for it", "the job waits for them"))
        assert found.requeue_after is None
        status = found.status
    every = end(TORCH, "master-0", "worker-0", "worker-1", ago=-HOURS)
    assert look(status, every, HOURS + 1).status.phase is Phase.COMPLETED


@pytest.mark.parametrize("ago", [3, 22])
@pytest.mark.parametrize("rank", ["master-0", "worker-0", "worker-1"])
def test_one_that_fails_fails_the_job_however_near_the_end(rank: str, ago: float) -> None:
    """Before: 3 s before the Master's end the job was Completed, with exit code 0; 22 s before it was Failed."""
    others = {"master-0", "worker-0", "worker-1"} - {rank}
    pods = with_pod(end(TORCH, *others), rank, failed(1, ago))
    found = judge(TORCH, build_status(TORCH), observe(TORCH, pods, config_maps=()))
    assert (found.status.phase, reason(found)) == (Phase.FAILED, "RankFailed")
    assert found.status.cause is not None
    assert found.status.cause.args["ranks"] == [rank]


def test_one_that_fails_while_the_last_saves_fails_the_job() -> None:
    pods = with_pod(end(TORCH, "worker-0"), "worker-1", failed(1, 5))
    assert judge(TORCH, build_status(TORCH), observe(TORCH, pods, config_maps=())).status.phase is Phase.FAILED


def test_servers_do_not_decide() -> None:
    done = end(SERVED, "worker-0", "worker-1")
    assert look(build_status(SERVED), done, job=SERVED).status.phase is Phase.COMPLETED


# With a bound.


def test_ranks_that_run_on_have_the_time_that_was_typed() -> None:
    first = look(build_status(BOUNDED), end(BOUNDED, "worker-0", "worker-1"), job=BOUNDED)
    assert (first.status.phase, reason(first), first.requeue_after) == (Phase.RUNNING, "WaitingForLastRanks", 600.0)
    assert first.status.cause is not None
    said = "the other ranks have ended well; master-0 still runs, and is ended 600 s after the first good end"
    assert explain(first.status.cause) == said
    over = look(first.status, end(BOUNDED, "worker-0", "worker-1"), 600, job=BOUNDED)
    assert over.status.cause is not None
    assert (over.status.phase, reason(over)) == (Phase.COMPLETED, "CompletedWithoutWorkers")
    assert explain(over.status.cause) == "completed; master-0 still ran 600 s later, and was ended"
    assert read_exit_code(over.status.phase, over.status.cause) == 0  # as was asked for
    assert deleted(look(over.status, end(BOUNDED, "worker-0", "worker-1"), 601, job=BOUNDED)) == ["master-0-of-0"]


WAITING = look(build_status(BOUNDED), end(BOUNDED, "worker-0"), job=BOUNDED).status


def test_the_wait_is_no_success_yet() -> None:
    pods = with_pod(end(BOUNDED, "worker-0"), "worker-1", failed(1, -20))
    found = plan(BOUNDED, WAITING, Observed(pods=with_pod(pods, "master-0", succeeded(-20))), NOW + 20)
    assert found.status.phase is Phase.FAILED
    suspended = replace(BOUNDED, policies=Policies(suspend=True, clean_pods=CleanPods.RUNNING))
    assert look(WAITING, end(BOUNDED, "worker-0"), 20, suspended).status.phase is Phase.SUSPENDED


@pytest.mark.parametrize(
    ("why", "pods", "job"),
    [
        ("no rank has ended", build_pods(BOUNDED), BOUNDED),
        ("a rank has not begun", with_pod(end(BOUNDED, "worker-0"), "worker-1",
                                         lambda pod: replace(pod, phase=PodPhase.PENDING, node="")), BOUNDED),
        ("nobody ends them", end(BOUNDED, "worker-0"), replace(BOUNDED, policies=Policies(clean_pods=CleanPods.NEVER))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_bound_begins_with_the_first_good_end_beside_ranks_that_run(
    why: str, pods: tuple[Pod, ...], job: Job
) -> None:
    status = build_status(job, Phase.STARTING, started=None)
    cause = look(status, pods, HOURS, job).status.cause
    assert cause is None or "seconds" not in cause.args


def test_they_are_not_ended_by_a_clock_that_has_jumped() -> None:
    found = look(WAITING, end(BOUNDED, "worker-0"), 7200, BOUNDED, off=7200)
    assert (found.status.phase, found.requeue_after) == (Phase.RUNNING, 60.0)


# An elasticPolicy: one rank's success is the group's, once no rank of the group runs on.


def test_the_last_of_a_group_is_waited_for_as_well() -> None:
    one = end(GROUP, "worker-1")
    status = build_status(GROUP)
    for later in (0.0, 31.0, HOURS):
        found = look(status, one, later, GROUP)
        assert (found.status.phase, deleted(found)) == (Phase.RUNNING, [])
        status = found.status
    assert look(status, end(GROUP, "worker-0", "worker-1", "worker-2"), HOURS, GROUP).status.phase is Phase.COMPLETED


def test_a_rank_without_a_place_and_one_that_comes_after_the_end_do_not_keep_a_group() -> None:
    done = end(GROUP, "worker-0", "worker-1", ago=9)
    away = with_pod(done, "worker-2", lambda pod: replace(pod, phase=PodPhase.PENDING, node=""))
    assert look(build_status(GROUP, Phase.STARTING, started=None), away, job=GROUP).status.phase is Phase.COMPLETED
    late = with_pod(done, "worker-2", lambda pod: replace(pod, started=NOW - 5))
    assert reason(look(build_status(GROUP), late, job=GROUP)) == "WaitingForWorkers"
    assert look(build_status(GROUP), with_pod(done, "worker-2", gone), job=GROUP).status.phase is Phase.COMPLETED


def test_a_rank_of_a_group_that_failed_beside_a_success_counts_for_the_exit_code() -> None:
    pods = with_pod(end(GROUP, "worker-0", "worker-1", ago=5), "worker-2", failed(1, 5))
    found = look(build_status(GROUP), pods, job=GROUP).status
    assert found.phase is Phase.COMPLETED
    assert read_exit_code(found.phase, found.cause) == 1
