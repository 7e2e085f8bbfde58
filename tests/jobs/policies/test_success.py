from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, deleting, failed, gone, succeeded, with_pod, workers_succeeded
from paddock.jobs import causes
from paddock.jobs.model import CleanPods, PodPhase, Rank
from paddock.jobs.policies.success import deciding_ranks, early_servers, plan_success

PS = build_job(ps=1)


def test_workers_decide_where_there_are_servers_and_all_do_where_none_decides() -> None:
    assert deciding_ranks(PS) == (Rank("worker", 0), Rank("worker", 1))
    only_servers = replace(PS, roles=PS.roles[:1])
    assert deciding_ranks(only_servers) == (Rank("ps", 0),)


@pytest.mark.parametrize(
    ("server", "early"),
    [
        (lambda pod: pod, False),
        (failed(137, ago=14), False),  # clocks of nodes differ
        (failed(137, ago=15), True),
        (succeeded(ago=15), True),
        (succeeded(ago=4), False),
        (lambda pod: replace(pod, phase=PodPhase.FAILED), False),  # nobody knows when
        (lambda pod: replace(pod, phase=PodPhase.SUCCEEDED), False),
    ],
)
def test_a_server_must_outlive_the_workers(server, early: bool) -> None:
    pods = with_pod(workers_succeeded(build_pods(PS), ago=5), "ps-0", server)
    assert bool(early_servers(PS, pods)) == early
    assert (plan_success(PS, pods, ()) is None) == early


def test_any_end_of_a_server_is_early_while_a_worker_runs() -> None:
    assert early_servers(PS, with_pod(build_pods(PS), "ps-0", succeeded()))


def test_an_end_without_a_time_has_that_of_the_first_that_was_seen() -> None:
    done = workers_succeeded(build_pods(PS), ago=5)
    for pods, missing in (
        (with_pod(done, "ps-0", lambda pod: replace(pod, phase=PodPhase.FAILED)), ()),
        (with_pod(done, "ps-0", gone), (Rank("ps", 0),)),
    ):
        assert plan_success(PS, pods, missing, NOW - 14) is not None
        assert plan_success(PS, pods, missing, NOW - 15) is None


def test_a_worker_that_was_deleted_must_succeed_again() -> None:
    pods = with_pod(workers_succeeded(build_pods(PS)), "worker-0", gone)
    assert plan_success(PS, pods, (Rank("worker", 0),)) is None


def test_a_succeeded_pod_that_is_being_deleted_still_counts() -> None:
    pods = tuple(map(deleting, workers_succeeded(build_pods(PS))))
    assert plan_success(PS, pods, ()) is not None


def test_servers_that_ended_with_the_workers_are_not_counted() -> None:
    verdict = plan_success(PS, with_pod(workers_succeeded(build_pods(PS)), "ps-0", succeeded(0)), ())
    assert verdict is not None
    assert verdict.cause == causes.Completed(2)


@pytest.mark.parametrize("policy", list(CleanPods))
def test_the_cause_says_whether_servers_are_kept(policy: CleanPods) -> None:
    verdict = plan_success(build_job(ps=1, clean_pods=policy), workers_succeeded(build_pods(PS)), ())
    assert verdict is not None
    kept = policy in (CleanPods.NEVER, CleanPods.ON_FAILURE)
    assert verdict.cause.reason == ("CompletedServersKept" if kept else "Completed")
