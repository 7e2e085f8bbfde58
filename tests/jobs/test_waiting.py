"""Why a job waits: what the API server does not create, a PodGroup that is not admitted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, cause, observe
from paddock.jobs.model import CauseRecord, Child, Observed, Phase, Pod, PodPhase, Refusal, Settings, Status
from paddock.jobs.plan import plan
from paddock.jobs.waiting import TRIES, plan_next_try, plan_refused_cause, read_recorded_refusal
from paddock.kube.meta import POD_GROUPS, VOLCANO_POD_GROUPS, Resource

DOWN = 'failed calling webhook "w.x": Post "https://w.x:443": dial tcp 10.0.0.7:443: connect: connection refused'
SLOW = 'failed calling webhook "w.x": Post "https://w.x:443": context deadline exceeded'
POD = "Pod demo-worker-0"


def fail(messages: list[str], refused: Refusal | None = None) -> list[Refusal]:
    """What is remembered after each of these tries."""
    found: list[Refusal] = []
    for message in messages:
        refused = plan_next_try([POD], message, refused)
        found.append(refused)
    return found


@pytest.mark.parametrize(
    ("tries", "told"),
    [(1, None), (5, None), (6, 6), (9, 6), (10, 10), (19, 10), (20, 20), (99, 50), (100, 100), (5000, 1000)],
)
def test_what_fails_for_long_is_a_cause_and_its_number_grows_in_steps(tries: int, told: int | None) -> None:
    (*_, last) = fail([DOWN] * tries)
    found = plan_refused_cause(last, {POD, "Pod demo-worker-1"})
    assert (found and found.args()) == (told and {"objects": [POD], "message": DOWN, "tries": told})
    assert plan_refused_cause(last, {"Pod demo-worker-1"}) is None, "it is not needed any more"


def test_a_message_that_changes_at_each_try_is_not_written_at_each_try() -> None:
    ports = [DOWN.replace("7:443", f"7:{port}") for port in range(50_000, 50_030)]
    assert {each.message for each in fail(ports)} == {ports[0]}
    assert {each.message for each in fail([DOWN, SLOW] * 20)} == {DOWN}
    causes = [plan_refused_cause(each, {POD}) for each in fail([DOWN, SLOW] * 200)]
    changes = sum(one != other for one, other in pairwise(causes))
    assert changes <= len(TRIES)


def test_a_message_that_stays_replaces_the_one_before() -> None:
    found = fail([DOWN] * 8 + [SLOW] * 3)
    assert [each.message for each in found[7:]] == [DOWN, DOWN, SLOW, SLOW]
    assert [each.tries for each in found] == list(range(1, 12))


def test_a_refusal_that_a_person_must_lift_is_told_at_once() -> None:
    found = plan_refused_cause(Refusal((POD,), "exceeded quota"), {POD})
    assert found is not None
    assert found.record(NOW) == cause("ObjectsRefused", objects=[POD], message="exceeded quota")


@pytest.mark.parametrize("tries", [0, 6, 100])
def test_an_operator_that_has_just_started_keeps_the_recorded_cause_until_it_has_asked(tries: int) -> None:
    job = build_job()
    refused = Refusal((POD,), DOWN, tries, DOWN)
    lacks = Observed(refused=refused)
    told = plan(job, Status(), lacks, NOW).status
    assert told.cause is not None and told.cause.args["objects"] == [POD]
    again = read_recorded_refusal(told.cause)
    assert again == refused
    assert plan(job, told, Observed(refused=again), NOW + 60).status == told, "nothing new writes nothing"
    whole = observe(job, refused=again)
    assert plan(job, build_status(job, Phase.PENDING), whole, NOW).status.phase is Phase.RUNNING


@pytest.mark.parametrize(
    "recorded", [None, CauseRecord("WaitingForPods", {"missing": 1}), CauseRecord("ObjectsRefused", {"objects": 7})]
)
def test_any_other_record_is_no_refusal(recorded: CauseRecord | None) -> None:
    found = read_recorded_refusal(recorded)
    assert found is None or plan_refused_cause(found, {POD}) is None


# PodGroups.

JOB = build_job()
GANG = "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable"
FULL = ("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.")
VOLCANO, PLUGINS = VOLCANO_POD_GROUPS, POD_GROUPS


def new_pods(placed: int = 0, **changes: Any) -> tuple[Pod, ...]:
    """Pods that have just been made; the first `placed` of them are on a node and have an address."""
    pods = build_pods(JOB, phase=PodPhase.PENDING, **changes)
    return tuple(replace(pod, node="", address="") if index >= placed else pod for index, pod in enumerate(pods))


@pytest.mark.parametrize(
    ("resource", "phase", "message", "pods", "said"),
    [
        (VOLCANO, "Pending", GANG, new_pods(), ("WaitingForPodGroup", 2)),
        (VOLCANO, "Pending", "", new_pods(), ("WaitingForPodGroup", 2)),
        (VOLCANO, "Inqueue", GANG, new_pods(), ("WaitingForPodGroup", 2)),
        (VOLCANO, "Unknown", "", new_pods(1), ("WaitingForPodGroup", 1)),
        (PLUGINS, "Pending", GANG, new_pods(), ("WaitingForPodGroup", 2)),
        (VOLCANO, "Pending", GANG, new_pods(waiting=("Unschedulable", "")), ("WaitingForPodGroup", 2)),
        (VOLCANO, "Pending", GANG, new_pods(waiting=FULL), ("WaitingForScheduler", 2)),  # the pods' own say more
        (VOLCANO, "Inqueue", "", new_pods(), ("WaitingForAddresses", None)),  # about to be placed
        (PLUGINS, "Scheduling", "", new_pods(), ("WaitingForAddresses", None)),
        (VOLCANO, "", "", new_pods(), ("WaitingForAddresses", None)),
        (VOLCANO, "Running", GANG, new_pods(2), ("WaitingForConfigMap", None)),  # of an earlier time
    ],
)
def test_a_pod_group_that_holds_its_pods_back_is_the_cause(
    resource: Resource, phase: str, message: str, pods: tuple[Pod, ...], said: tuple[str, int | None]
) -> None:
    group = Child(resource, "demo", "group", members=2, phase=phase, message=message)
    observed = observe(JOB, pods, config_maps=(), pod_group=group)
    found = plan(JOB, build_status(JOB, Phase.PENDING), observed, NOW, Settings(pod_groups=resource)).status.cause
    assert found is not None
    assert (found.reason, found.args.get("pods")) == said
    if found.reason == "WaitingForPodGroup":
        assert (found.args["name"], found.args["phase"], found.args["message"]) == ("demo", phase, message)


def test_a_gang_whose_pods_are_not_all_made_waits_for_these_first() -> None:
    group = Child(VOLCANO, "demo", "group", members=2, phase="Pending", message=GANG)
    planned = plan(JOB, Status(), Observed(pod_group=group), NOW, Settings(pod_groups=VOLCANO))
    assert planned.status.cause == cause("WaitingForPods", missing=2, wanted=2)
