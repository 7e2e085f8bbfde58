"""What is lost through no fault of the program: the bound, the back-off, and when the count begins anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, cause, failed, observe, with_pod
from paddock.jobs.model import Child, Phase, Pod, RestartPolicy, Settings, Status
from paddock.jobs.names import config_map_name
from paddock.jobs.objects.pods import hash_addresses
from paddock.jobs.plan import plan
from paddock.jobs.policies.restart import STEADY
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import CONFIG_MAPS

JOB = build_job(workers=2, backoff_limit=0)


def lose(losses: int, change: Callable[[Pod], Pod | None], ran: float = 60, limit: int = 100) -> Status:
    """The recorded status after the loss of worker-1 in a gang that has run for `ran` seconds."""
    pods = tuple(replace(pod, started=NOW - ran) for pod in build_pods(JOB))
    seen = observe(JOB, with_pod(pods, "worker-1", change))
    return plan(JOB, build_status(JOB, losses=losses), seen, NOW, Settings(loss_limit=limit)).status


def test_a_drained_node_is_waited_for_longer_each_time() -> None:
    drained = failed(137, reason="EvictionByEvictionAPI")
    found = [lose(before, drained) for before in range(7)]
    assert [each.losses for each in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [each.cause.args["delay"] for each in found if each.cause] == [10, 20, 40, 80, 160, 300, 300]
    assert {(each.phase, each.restarts) for each in found} == {(Phase.RESTARTING, 0)}


def test_the_first_deletion_waits_for_nothing() -> None:
    found = [lose(before, lambda pod: None) for before in range(3)]
    args = [each.cause.args for each in found if each.cause]
    assert args == [
        {"ranks": ["worker-1"]},
        {"ranks": ["worker-1"], "delay": 10, "loss": 2, "limit": 100},
        {"ranks": ["worker-1"], "delay": 20, "loss": 3, "limit": 100},
    ]


def test_addresses_that_never_stay_are_bounded_too() -> None:
    told = Child(
        CONFIG_MAPS,
        config_map_name(JOB, 0),
        "config-0",
        addresses=hash_addresses(JOB, dict.fromkeys(JOB.ranks(), "::1")),
    )
    seen = observe(JOB, config_maps=(told,))
    ends = [plan(JOB, build_status(JOB, losses=before), seen, NOW).status for before in (0, 1, 99, 100)]
    assert [each.cause.reason for each in ends if each.cause] == [*["AddressesChanged"] * 3, "LostTooOften"]
    assert [each.cause.args.get("delay") for each in ends if each.cause] == [None, 10, 300, None]


@pytest.mark.parametrize(("ran", "losses"), [(STEADY - 1, 8), (STEADY, 1)])
def test_a_gang_that_ran_for_ten_minutes_begins_the_count_anew(ran: float, losses: int) -> None:
    assert lose(7, failed(-1, reason="NodeLost"), ran).losses == losses


@pytest.mark.parametrize(("ran", "losses"), [(STEADY - 1, 7), (STEADY, 0)])
def test_a_long_run_forgets_losses_whatever_ended_it(ran: float, losses: int) -> None:
    job = build_job(restart=RestartPolicy.ON_FAILURE)
    pods = tuple(replace(pod, started=NOW - ran) for pod in build_pods(job))
    pods = with_pod(pods, "worker-0", failed(1))
    pods = with_pod(pods, "worker-1", failed(250))
    status = plan(job, build_status(job, losses=7), observe(job, pods), NOW).status
    assert (status.restarts, status.losses) == (1, losses)


def test_after_the_last_one_the_job_fails_and_says_what_it_was() -> None:
    status = lose(3, failed(-1, reason="NodeLost"), limit=3)
    assert (status.phase, status.losses, status.attempt) == (Phase.FAILED, 3, 0)
    assert status.cause == cause("LostTooOften", limit=3, last="PodsLost", ranks=["worker-1"], why="NodeLost")
    assert "worker-1 went with the node (NodeLost)" in explain(status.cause)


@pytest.mark.parametrize("reason", ["Evicted", "Error", "OOMKilled", "DeadlineExceeded", "", "SomethingNew"])
def test_all_else_is_the_programs_fault(reason: str) -> None:
    status = lose(0, failed(137, reason=reason), ran=STEADY)
    assert status.cause is None or status.cause.reason == "WaitingForStatuses", "the peer's end may be on its way"
    pods = with_pod(build_pods(JOB), "worker-1", failed(137, reason=reason))
    pods = with_pod(pods, "worker-0", failed(250))
    status = plan(JOB, build_status(JOB), observe(JOB, pods), NOW).status
    assert (status.phase, status.losses) == (Phase.FAILED, 0)


def test_an_eviction_is_told_in_the_kubelets_words() -> None:
    said = "The node was low on resource: ephemeral-storage. Container paddle was using 9Gi, request is 0."
    job = build_job(workers=1)
    pods = with_pod(build_pods(job), "worker-0", failed(137, reason="Evicted", message=said))
    recorded = plan(job, build_status(job), observe(job, pods), NOW).status.cause
    assert recorded is not None
    assert "worker-0 was evicted by its node: The node was low on resource: ephemeral-storage" in explain(recorded)
