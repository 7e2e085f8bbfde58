from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_torch_job,
    deleting,
    failed,
    gone,
    succeeded,
    with_pod,
    workers_succeeded,
)
from paddock.jobs import causes
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import CleanPods, Pod, PodPhase, Rank
from paddock.jobs.policies.success import deciding_ranks, early_servers, plan_success

PS = build_job(ps=1)


def test_workers_decide_where_there_are_servers_and_all_do_where_none_decides() -> None:
    assert [rank for rank in PS.ranks() if rank in deciding_ranks(PS)] == [Rank("worker", 0), Rank("worker", 1)]
    only_servers = replace(PS, roles=PS.roles[:1])
    assert [rank for rank in PS.ranks() if rank in deciding_ranks(only_servers)] == [Rank("ps", 0)]
    assert Rank("worker", 2) not in deciding_ranks(PS)  # one more than there are


def elsewhere(change: Callable[[Pod], Pod]) -> Callable[[Pod], Pod]:
    """The same on a node of its own, whose clock may differ from that of the workers' node."""
    return lambda pod: replace(change(pod), node="another")


@pytest.mark.parametrize(
    ("server", "early"),
    [
        (lambda pod: pod, False),
        (elsewhere(failed(137, ago=14)), False),  # clocks of nodes differ
        (elsewhere(failed(137, ago=15)), True),
        (elsewhere(succeeded(ago=15)), True),
        (failed(1, ago=6), False),  # times have whole seconds
        (failed(1, ago=7), True),  # one node has one clock
        (failed(137, ago=7), True),
        (failed(1, ago=5), False),
        (failed(1, ago=2), False),
        (succeeded(ago=7), False),  # ended by the workers, who may then have evaluated something
        (succeeded(ago=15), True),
        (succeeded(ago=4), False),
        (lambda pod: replace(failed(1, ago=9)(pod), node=""), False),
        (lambda pod: replace(pod, phase=PodPhase.FAILED), False),  # nobody knows when
        (lambda pod: replace(pod, phase=PodPhase.SUCCEEDED), False),
    ],
)
def test_a_server_must_outlive_the_workers(server, early: bool) -> None:
    """Before: a second server that ended by an exception three seconds before the worker made a job Completed."""
    pods = with_pod(workers_succeeded(build_pods(PS), ago=5), "ps-0", server)
    assert bool(early_servers(PS, pods)) == early
    assert (plan_success(PS, pods, ()) is None) == early


def test_any_worker_of_the_servers_own_node_tells_the_order() -> None:
    pods = workers_succeeded(build_pods(PS), ago=5)
    pods = with_pod(with_pod(pods, "worker-1", elsewhere(lambda pod: pod)), "ps-0", failed(1, ago=8))
    assert plan_success(PS, pods, ()) is None
    pods = tuple(replace(pod, node=pod.name) for pod in pods)
    assert plan_success(PS, pods, ()) is not None


@pytest.mark.parametrize("policy", list(CleanPods))
def test_a_server_that_failed_at_nearly_the_same_time_is_named_with_its_code_under_every_policy(
    policy: CleanPods,
) -> None:
    """Its order is unknown, which is said: with `cleanPodPolicy: Never` it was not."""
    job = build_job(ps=2, clean_pods=policy)
    pods = with_pod(workers_succeeded(build_pods(job), ago=5), "ps-1", failed(1, ago=5))
    verdict = plan_success(job, pods, ())
    assert verdict is not None
    assert isinstance(verdict.cause, causes.Completed | causes.CompletedServersKept)
    assert (verdict.cause.failed, verdict.cause.code, verdict.cause.server) == (("ps-1",), 1, True)
    assert read_exit_code(verdict.phase, verdict.cause.record(NOW)) == 1


def test_a_worker_that_aborts_while_the_master_of_its_job_still_ends_changes_nothing() -> None:
    """Gloo aborts ranks whose peers have gone (134): the Master's word counts, and no command exits with 1 for it."""
    job = build_torch_job()
    pods = with_pod(build_pods(job), "master-0", succeeded(ago=2))
    pods = with_pod(with_pod(pods, "worker-0", succeeded(ago=6)), "worker-1", failed(134, ago=6))
    verdict = plan_success(job, pods, ())
    assert verdict is not None
    assert verdict.cause == causes.Completed(2, echoes=("worker-1",))
    assert read_exit_code(verdict.phase, verdict.cause.record(NOW)) == 0


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
