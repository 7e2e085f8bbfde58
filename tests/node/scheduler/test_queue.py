"""How jobs stand with the scheduler, and what the nodes have. The order is held against the scheduler's own binds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.cluster_objects import group, node
from node.cluster_objects import pod as build_pod
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest
from paddock.node.scheduler.placement import Bind, plan_placement
from paddock.node.scheduler.queue import Queue, Standing, read_queue
from paddock.views.queue_rows import read_needs

RESOURCE = next(iter(KINDS))
ONE = {"cpu": "1"}


def pod(name: str, job: str, **more: Any) -> Manifest:
    """A pod of a job, which asks for one CPU."""
    made = build_pod(name, owner=job, **({"requests": ONE} | more))
    made["metadata"]["ownerReferences"][0] |= {"apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind}
    return made


def places(queue: Queue) -> dict[str, int]:
    return {uid.removeprefix("uid-"): standing.position for uid, standing in queue.waiting.items()}


OTHER = build_pod("other", at=1, owner="replicas", requests=ONE)

# Pods, PodGroups and PriorityClasses, and the positions of the jobs.
ORDERS: list[tuple[str, list[Manifest], list[Manifest] | None, list[Manifest], dict[str, int]]] = [
    ("nothing waits", [], [], [], {}),
    ("the older first", [pod("a-0", "a", at=2), pod("b-0", "b", at=1)], [], [], {"b": 1, "a": 2}),
    ("of one second: by name", [pod("b-0", "b"), pod("a-0", "a")], [], [], {"a": 1, "b": 2}),
    ("priority before age", [pod("a-0", "a", at=1), pod("b-0", "b", at=2, priority=5)], [], [], {"b": 1, "a": 2}),
    ("the priority of a class", [pod("a-0", "a", at=1), pod("b-0", "b", at=2, priorityClassName="urgent")], [],
     [{"metadata": {"name": "urgent"}, "value": 7}], {"b": 1, "a": 2}),
    ("a gang is as old as its PodGroup", [pod("a-0", "a", at=2), pod("b-0", "b", at=9, gang="b")],
     [group("b", 1, at=1)], [], {"b": 1, "a": 2}),
    ("without a right to read PodGroups each pod is its own", [pod("a-0", "a", at=2), pod("b-0", "b", at=9, gang="b")],
     None, [], {"a": 1, "b": 2}),
    ("a job is counted once", [pod("a-0", "a", at=1), pod("a-1", "a", at=2), pod("b-0", "b", at=3)], [], [],
     {"a": 1, "b": 2}),
    ("pods of others are not counted", [OTHER, pod("a-0", "a", at=2)], [], [], {"a": 1}),
    ("what is on a node does not wait", [pod("a-0", "a", node="laptop"), pod("b-0", "b")], [], [], {"b": 1}),
    ("a gate keeps it out of the queue", [pod("a-0", "a", schedulingGates=[{"name": "x"}]), pod("b-0", "b")], [], [],
     {"b": 1}),
    ("its PodGroup is not there yet", [pod("a-0", "a", gang="a"), pod("b-0", "b")], [], [], {"b": 1}),
    ("a gang that runs and asks for more does not wait", [pod("a-1", "a", spare=True), pod("b-0", "b", at=9)], [], [],
     {"b": 1}),
    ("one that ends does not wait", [pod("a-0", "a", deleting=True), pod("b-0", "b")], [], [], {"b": 1}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "groups", "classes", "expected"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS]
)
def test_positions(
    pods: list[Manifest], groups: list[Manifest] | None, classes: list[Manifest], expected: dict[str, int]
) -> None:
    assert places(read_queue(pods, [], groups, classes, kinds=KINDS)) == expected


def test_a_job_says_since_when_it_waits_and_which_have_pods_on_nodes() -> None:
    pods = [
        pod("a-0", "a", at=5, priority=3), pod("a-1", "a", at=4, priority=3), pod("b-0", "b", node="laptop"),
        pod("c-0", "c", node="laptop", phase="Succeeded"),
    ]  # fmt: skip
    queue = read_queue(pods, [], kinds=KINDS)
    assert queue.waiting == {"uid-a": Standing(1, 3, 4.0)}
    assert queue.placed == {"uid-b"}


def test_what_is_free_is_counted_on_the_nodes_that_take_pods() -> None:
    nodes = [node("a", cpu="4", gpus=1), node("b", cpu="2"), node("c", unschedulable=True), node("d", ready="False")]
    pods = [pod("x", "a", node="a"), OTHER | {"spec": {**OTHER["spec"], "nodeName": "b"}}, pod("y", "b", node="c")]
    capacity = read_queue(pods, nodes, kinds=KINDS).capacity
    assert capacity is not None
    assert (capacity.nodes, capacity.away) == (2, 2)
    assert capacity.amounts["cpu"] == (4, 6)
    assert capacity.amounts["nvidia.com/gpu"] == (1, 1)
    assert read_queue(pods, None, kinds=KINDS).capacity is None


def test_needs_are_summed_as_the_scheduler_does() -> None:
    pods = [build_pod(requests={"cpu": "500m"}, limits={"nvidia.com/gpu": "1"})] * 3
    assert read_needs(pods) == {"cpu": Fraction(3, 2), "nvidia.com/gpu": 3}
    assert read_needs([build_pod(requests={"cpu": "two"})]) == {}


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 2), st.booleans()), min_size=1, max_size=6)
)
def test_jobs_that_all_need_the_whole_node_start_in_the_order_that_is_shown(
    jobs: list[tuple[int, int, int, bool]],
) -> None:
    """Each job: its age, its priority, its pods, and whether they are a gang. All have one pod per node of two."""
    pods: list[Manifest] = []
    groups: list[Manifest] = []
    for index, (at, priority, count, is_gang) in enumerate(jobs):
        name = f"job-{index}"
        count = count if is_gang else 1
        gang = {"gang": name} if is_gang else {}
        groups += [group(name, count, at=at)] if is_gang else []
        amounts = {"cpu": str(2 // count)}
        pods += [
            pod(f"{name}-{rank}", name, at=at + rank, priority=priority, requests=amounts, **gang)
            for rank in range(count)
        ]
    shown = sorted(places(read_queue(pods, [], groups, kinds=KINDS)).items(), key=lambda item: item[1])
    started: list[str] = []
    while pods:
        bound = {each.name for each in plan_placement(pods, [node(cpu="2")], groups) if isinstance(each, Bind)}
        (owner,) = {it["metadata"]["ownerReferences"][0]["name"] for it in pods if it["metadata"]["name"] in bound}
        started.append(owner)
        pods = [it for it in pods if it["metadata"]["name"] not in bound]
    assert started == [name for name, _ in shown]
