"""Placement: which pod is bound to which node, and the messages of the others. Tables first, then properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster_objects import group, node, pod
from paddock.kube.meta import Manifest, name_of
from paddock.kube.quantities import read_amounts, read_quantity
from paddock.node.scheduler.nodes import read_node
from paddock.node.scheduler.placement import (
    STARVATION_SECONDS,
    Bind,
    Decision,
    Evict,
    Priorities,
    Wait,
    plan_placement,
    plan_requests,
)
from paddock.node.scheduler.pod_request import read_request
from support.steps import count_steps

Cluster = tuple[list[Manifest], list[Manifest], list[Manifest]]


def bound(decisions: tuple[Decision, ...]) -> dict[str, str]:
    return {decision.name: decision.node for decision in decisions if isinstance(decision, Bind)}


def waits(decisions: tuple[Decision, ...]) -> dict[str, str]:
    return {decision.name: decision.message for decision in decisions if isinstance(decision, Wait)}


GPU = {"nvidia.com/gpu": "1"}
ONE = {"cpu": "1"}
P100 = {"accelerator": "nvidia-tesla-p100"}

# A pod of no demands on a laptop of 4 cores and 8 GiB, and one change per row: the pod's sentence, "" when it is bound.
SENTENCES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("the base", {}, {}, ""),
    ("all the cores", {"requests": {"cpu": "4"}}, {}, ""),
    ("a core too many", {"requests": {"cpu": "5"}}, {},
     "0/1 nodes are available: 1 Insufficient cpu (needs 5, 4 of 4 free)."),
    ("a GPU on a laptop without", {"limits": GPU}, {},
     "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 1, 0 of 0 free)."),
    ("a GPU where there is one", {"limits": GPU}, {"gpus": 1}, ""),
    ("memory in people's units", {"requests": {"memory": "16Gi"}}, {},
     "0/1 nodes are available: 1 Insufficient memory (needs 16 GiB, 8.0 GiB of 8.0 GiB free)."),
    ("a device nobody knows", {"requests": {"example.com/npu": "2"}}, {},
     "0/1 nodes are available: 1 Insufficient example.com/npu (needs 2, 0 of 0 free)."),
    ("a label nobody has", {"nodeSelector": P100}, {},
     "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector"
     " (accelerator=nvidia-tesla-p100; node has none)."),
    ("both at once, in one sentence", {"limits": GPU, "nodeSelector": P100}, {},
     "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 1, 0 of 0 free), 1 node(s) didn't match Pod's"
     " node affinity/selector (accelerator=nvidia-tesla-p100; node has none)."),
    ("a full node", {}, {"pods": 0}, "0/1 nodes are available: 1 Too many pods (needs 1, 0 of 0 free)."),
    ("a cordoned node", {}, {"unschedulable": True},
     "0/1 nodes are available: 1 node(s) were unschedulable (kubectl uncordon laptop)."),
    ("a node that is not ready", {}, {"ready": "False"}, "0/1 nodes are available: 1 node(s) were not ready."),
    ("a PodGroup that is not there", {"gang": "train"}, {},
     'waiting for the PodGroup "train", which does not exist yet'),
    ("another scheduler's name is ours too", {"schedulerName": "volcano"}, {}, ""),
    ("a scheduling gate", {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}, {},
     "waiting until its spec.schedulingGates are removed"),
    ("no quantity", {"requests": {"cpu": "two"}}, {},
     "cannot be placed as it is written: spec.containers[0].resources: 'two' is not a quantity: a number with one of"
     " n u m k M G T P E Ki Mi Gi Ti Pi Ei"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "has", "sentence"), [row[1:] for row in SENTENCES], ids=[row[0] for row in SENTENCES]
)
def test_one_pod_on_one_laptop(asked: dict[str, Any], has: dict[str, Any], sentence: str) -> None:
    decisions = plan_placement([pod(**asked)], [node(**has)])
    assert waits(decisions) == ({"x": sentence} if sentence else {})
    assert bound(decisions) == ({} if sentence else {"x": "laptop"})


def test_without_a_node_the_sentence_says_so() -> None:
    assert waits(plan_placement([pod()], [])) == {"x": "no nodes available to schedule pods"}


def test_nodes_with_different_facts_are_counted_and_the_first_is_named() -> None:
    nodes = [node("a", cpu="1"), node("b", cpu="2"), node("c", unschedulable=True)]
    assert waits(plan_placement([pod(requests={"cpu": "3"})], nodes)) == {
        "x": "0/3 nodes are available: 2 Insufficient cpu (on a: needs 3, 1 of 1 free), "
        "1 node(s) were unschedulable (kubectl uncordon c)."
    }


def test_bound_and_unfinished_pods_hold_what_they_asked() -> None:
    others = [
        pod("runs", node="laptop", phase="Running", requests={"cpu": "2"}),
        pod("ends", node="laptop", phase="Running", requests={"cpu": "1"}, deleting=True),
        pod("ended", node="laptop", phase="Succeeded", requests={"cpu": "4"}),
        pod("elsewhere", node="gone", phase="Running", requests={"cpu": "4"}),
    ]
    assert bound(plan_placement([*others, pod(requests=ONE)], [node()])) == {"x": "laptop"}
    assert waits(plan_placement([*others, pod(requests={"cpu": "1500m"})], [node()])) == {
        "x": "0/1 nodes are available: 1 Insufficient cpu (needs 1500m, 1 of 4 free). Held by runs (2), ends (1)."
    }


def test_nobody_is_named_who_holds_nothing_of_what_is_lacking() -> None:
    holder = pod("idle", node="laptop", phase="Running", requests={"memory": "1Gi"})
    found = waits(plan_placement([holder, pod(requests={"cpu": "64"})], [node()]))
    assert found == {"x": "0/1 nodes are available: 1 Insufficient cpu (needs 64, 4 of 4 free)."}


def test_priority_comes_first_then_age() -> None:
    late, early = pod("a", at=2, requests={"cpu": "3"}), pod("b", at=1, requests={"cpu": "3"})
    assert bound(plan_placement([late, early], [node()])) == {"b": "laptop"}
    late["spec"]["priority"] = 5
    assert bound(plan_placement([late, early], [node()])) == {"a": "laptop"}
    early["spec"]["priorityClassName"] = "urgent"
    assert bound(plan_placement([late, early], [node()], priorities=Priorities({"urgent": 10}))) == {"b": "laptop"}


def test_a_finished_pod_costs_a_plan_a_few_steps_however_many_wait() -> None:
    nodes = [read_node(node(cpu="400", pods=1000))]
    waiting = [read_request(pod(f"new-{index}", requests={"cpu": "500m"})) for index in range(200)]
    done = [
        read_request(pod(f"done-{index}", requests={"cpu": "500m"}, node="laptop", phase="Succeeded"))
        for index in range(2000)
    ]
    alone = count_steps(lambda: plan_requests(waiting, nodes))
    beside = count_steps(lambda: plan_requests([*done, *waiting], nodes))
    assert (beside - alone) / len(done) <= 8


# Gangs


def gang(count: int, *, at: float = 0, name: str = "train", volcano: bool = False, **more: Any) -> list[Manifest]:
    link = {"volcano": name} if volcano else {"gang": name}
    return [pod(f"{name}-{index}", at=at, owner=name, **link, **more) for index in range(count)]


@pytest.mark.parametrize("mark", [False, True], ids=["the label", "Volcano's annotation"])
@pytest.mark.parametrize("kind", [False, True], ids=["our PodGroup", "Volcano's PodGroup"])
def test_a_gang_that_fits_is_bound_whole(mark: bool, kind: bool) -> None:
    assert (
        len(bound(plan_placement(gang(4, requests=ONE, volcano=mark), [node()], [group(minimum=4, volcano=kind)]))) == 4
    )


def test_a_gang_that_does_not_fit_is_not_begun_and_its_sentence_adds_up() -> None:
    decisions = plan_placement(gang(4, limits=GPU), [node(gpus=2)], [group(minimum=4)])
    assert bound(decisions) == {}
    assert set(waits(decisions).values()) == {
        'waiting for the gang "train": 4 pods are needed at once, 2 fit: 0/1 nodes are available: '
        "1 Insufficient nvidia.com/gpu (needs 4 x 1, 2 of 2 free)."
    }


def test_a_gang_waits_for_its_last_pod() -> None:
    decisions = plan_placement(gang(3), [node()], [group(minimum=4)])
    assert set(waits(decisions).values()) == {'waiting for the gang "train": 4 pods are needed at once, 3 exist'}


def test_pods_over_the_minimum_are_placed_as_capacity_allows() -> None:
    decisions = plan_placement(gang(6, requests=ONE), [node()], [group(minimum=2)])
    assert len(bound(decisions)) == 4
    assert set(waits(decisions).values()) == {"0/1 nodes are available: 1 Insufficient cpu (needs 1, 0 of 4 free)."}


def test_a_gang_may_have_one_pod_replaced() -> None:
    pods = gang(3, requests=ONE)
    for member in pods[:2]:
        member["spec"]["nodeName"], member["status"]["phase"] = "laptop", "Running"
    assert bound(plan_placement(pods, [node()], [group(minimum=3)])) == {"train-2": "laptop"}


def test_deleted_pods_of_the_last_attempt_do_not_count() -> None:
    old = [pod(f"old-{index}", gang="train", node="laptop", phase="Running", deleting=True) for index in range(2)]
    assert bound(plan_placement([*old, *gang(1)], [node()], [group(minimum=3)])) == {}


def test_a_gang_spreads_over_nodes_when_it_must() -> None:
    decisions = plan_placement(gang(3, requests={"cpu": "2"}), [node("a"), node("b", cpu="2")], [group(minimum=3)])
    assert sorted(bound(decisions).values()) == ["a", "a", "b"]


# Overtaking


def big_and_small(since: float) -> Cluster:
    busy = pod("busy", node="laptop", phase="Running", limits=GPU)
    return (
        [busy, *gang(2, at=since, limits=GPU), pod("small", at=since + 1, limits=GPU)],
        [node(gpus=2)],
        [group(at=since)],
    )


def test_a_gang_that_does_not_fit_is_overtaken_at_first() -> None:
    assert bound(plan_placement(*big_and_small(since=1000), now=1000 + STARVATION_SECONDS - 1)) == {"small": "laptop"}


def test_a_gang_that_has_waited_long_gets_a_reservation() -> None:
    decisions = plan_placement(*big_and_small(since=1000), now=1000 + STARVATION_SECONDS)
    assert bound(decisions) == {}
    assert waits(decisions)["small"] == (
        'held back for the gang "default/train", which has waited longer and lacks nvidia.com/gpu '
        "(1 nvidia.com/gpu is free and kept)"
    )


def test_what_can_never_fit_is_said_before_who_is_ahead() -> None:
    """A pod that is too large, and a gang whose pods fit one by one; one behind them waits for its turn."""
    pods, nodes, groups = big_and_small(since=1000)
    large = pod("large", at=1001, limits={"nvidia.com/gpu": "9"})
    many = [pod(f"many-{index}", at=1001, gang="many", limits=GPU) for index in range(3)]
    groups = [*groups, group("many", minimum=3, at=1001)]
    two = pod("two", at=1002, limits={"nvidia.com/gpu": "2"})
    said = waits(plan_placement([*pods, large, *many, two], nodes, groups, now=1000 + STARVATION_SECONDS))
    assert "(needs 9, 1 of 2 free)" in said["large"] and "(needs 3 x 1, 1 of 2 free)" in said["many-0"]
    assert said["two"].endswith("lacks nvidia.com/gpu") and said["small"].endswith("is free and kept)")


def test_a_pod_that_requests_no_reserved_resource_still_overtakes() -> None:
    pods, nodes, groups = big_and_small(since=1000)
    decisions = plan_placement(
        [*pods, pod("cpu-only", at=1002, requests=ONE)], nodes, groups, now=1000 + STARVATION_SECONDS
    )
    assert bound(decisions) == {"cpu-only": "laptop"}


def test_a_gang_that_could_never_fit_holds_nobody_back() -> None:
    pods, _, groups = big_and_small(since=1000)
    assert bound(plan_placement(pods, [node(gpus=1)], groups, now=9999)) == {}
    assert bound(plan_placement(pods[1:], [node(gpus=1)], groups, now=9999)) == {"small": "laptop"}


def test_a_gang_that_runs_with_its_minimum_holds_nobody_back() -> None:
    """An elastic gang of 1 to 3 whose third rank never finds room beside its own two."""
    running = [pod(f"train-{index}", gang="train", node="laptop", phase="Running", requests=ONE) for index in (0, 1)]
    third = pod("train-2", at=1, gang="train", requests={"cpu": "1500m"})
    small = pod("small", at=2, requests={"cpu": "500m"})
    decisions = plan_placement([*running, third, small], [node(cpu="3")], [group(minimum=1)], now=9999)
    assert bound(decisions) == {"small": "laptop"}


# Spare pods, which ask whether a gang that runs may have more


def grown(*others: Manifest, gpus: int, now: float = 0) -> dict[str, str]:
    """The nodes of a spare pod of an old gang that runs on one GPU, and of other pods."""
    running = pod("train-0", gang="train", node="laptop", phase="Running", limits=GPU)
    spare = pod("train-1", at=1, gang="train", spare=True, limits=GPU)
    return bound(plan_placement([running, spare, *others], [node(gpus=gpus)], [group(minimum=1)], now=now))


def test_a_spare_pod_takes_room_that_nobody_waits_for() -> None:
    assert grown(gpus=2) == {"train-1": "laptop"}
    assert grown(pod("no-gpu", at=2, requests={"cpu": "9"}), gpus=2) == {"train-1": "laptop"}
    assert grown(pod("too-big", at=2, limits={"nvidia.com/gpu": "9"}), gpus=2) == {"train-1": "laptop"}


def test_a_younger_job_comes_before_a_spare_pod() -> None:
    assert grown(pod("small", at=2, limits=GPU), gpus=2) == {"small": "laptop"}
    assert grown(pod("small", at=2, limits=GPU), gpus=3) == {"small": "laptop", "train-1": "laptop"}


def test_a_spare_pod_takes_no_part_of_what_another_job_waits_for() -> None:
    big = pod("big", at=2, limits={"nvidia.com/gpu": "2"})
    assert grown(big, gpus=2) == {}
    assert grown(big, gpus=3) == {"big": "laptop"}
    running = pod("train-0", gang="train", node="laptop", phase="Running", limits=GPU)
    spare = pod("train-1", at=1, gang="train", spare=True, limits=GPU)
    decisions = plan_placement([running, spare, big], [node(gpus=2)], [group(minimum=1)])
    assert waits(decisions)["train-1"] == 'comes after the pod "default/big", which lacks nvidia.com/gpu'


def test_a_spare_pod_that_has_waited_long_holds_nobody_back() -> None:
    late = 10 * STARVATION_SECONDS
    spares = [pod(f"train-{index}", at=1, gang="train", spare=True, limits=GPU) for index in (1, 2)]
    small = pod("small", at=late, limits=GPU)
    running = pod("train-0", gang="train", node="laptop", phase="Running", limits=GPU)
    decisions = plan_placement([running, *spares, small], [node(gpus=2)], [group(minimum=1)], now=late)
    assert bound(decisions) == {"small": "laptop"}


def test_a_higher_priority_grows_before_a_lower_one_begins() -> None:
    running = pod("train-0", gang="train", node="laptop", phase="Running", limits=GPU)
    spare = pod("train-1", at=1, gang="train", spare=True, limits=GPU, priority=1)
    decisions = plan_placement([running, spare, pod("small", at=0, limits=GPU)], [node(gpus=2)], [group(minimum=1)])
    assert bound(decisions) == {"train-1": "laptop"}


# Ports


def test_jobs_with_overlapping_ports_run_one_after_the_other() -> None:
    pods = [pod("a", at=1, port=36000, owner="one"), pod("b", at=2, port=36019, owner="two")]
    decisions = plan_placement(pods, [node()])
    assert bound(decisions) == {"a": "laptop"}
    assert waits(decisions) == {
        "b": "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports "
        "(port 36019 is held by PaddleJob default/one)."
    }


NO_OVERLAP = [
    ("the next block", {"port": 36000, "owner": "one"}, {"port": 36020, "owner": "two"}),
    ("one owner's pods", {"port": 36000, "owner": "one"}, {"port": 36000, "owner": "one"}),
    ("a holder that has ended", {"port": 36000, "node": "laptop", "phase": "Failed"}, {"port": 36000}),
    ("another number", {"host_port": 80}, {"host_port": 81}),
]


@pytest.mark.parametrize(("first", "second"), [row[1:] for row in NO_OVERLAP], ids=[row[0] for row in NO_OVERLAP])
def test_ports_that_do_not_collide(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert "b" in bound(plan_placement([pod("a", **first), pod("b", **second)], [node()]))


def test_a_host_port_of_a_bare_pod_is_its_own() -> None:
    decisions = plan_placement([pod("a", host_port=80), pod("b", host_port=80)], [node()])
    assert waits(decisions)["b"].endswith("(port 80 is held by pod default/a).")


# Properties

SMALL = st.integers(0, 3)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = [
        node(
            f"node-{index}",
            cpu=str(draw(SMALL)),
            memory=f"{draw(SMALL)}Gi",
            gpus=draw(SMALL),
            pods=draw(st.integers(0, 6)),
        )
        for index in range(draw(SMALL))
    ]
    groups = [
        group(name, draw(st.integers(1, 4)), volcano=draw(st.booleans()), at=draw(SMALL))
        for name in draw(st.sets(st.sampled_from(["g0", "g1", "g2"])))
    ]
    pods = []
    for index in range(draw(st.integers(0, 9))):
        bound_to = draw(st.sampled_from(["", "", "", "node-0", "node-9"]))
        link = draw(st.sampled_from([{}, {"gang": "g0"}, {"gang": "g1"}, {"volcano": "g1"}, {"gang": "g2"}]))
        pods.append(
            pod(
                f"pod-{index}",
                at=draw(SMALL),
                requests={"cpu": draw(st.sampled_from(["0", "500m", "1", "2"])), "memory": f"{draw(SMALL)}Gi"},
                limits=draw(st.sampled_from([{}, GPU])),
                node=bound_to,
                phase=draw(st.sampled_from(["Running", "Succeeded", "Failed"])) if bound_to else "Pending",
                owner=draw(st.sampled_from(["one", "two"])),
                port=draw(st.sampled_from([None, 36000, 36010, 36020])),
                deleting=draw(st.sampled_from([False, False, False, True])),
                priority=draw(st.sampled_from([0, 0, 1])),
                spare=draw(st.sampled_from([False, False, False, True])),
                **link,
            )
        )
    return pods, nodes, groups


def applied(cluster: Cluster, decisions: tuple[Decision, ...]) -> Cluster:
    """The cluster after the binds have happened."""
    places = bound(decisions)
    pods = [
        {
            **manifest,
            "spec": {**manifest["spec"], "nodeName": places.get(name_of(manifest), read_request(manifest).node)},
        }
        for manifest in pods_of(cluster)
    ]
    return pods, cluster[1], cluster[2]


def pods_of(cluster: Cluster) -> list[Manifest]:
    return cluster[0]


MOMENTS = st.sampled_from([0.0, STARVATION_SECONDS + 10])


@given(clusters(), MOMENTS)
def test_every_unbound_pod_gets_one_decision_and_every_wait_a_sentence(cluster: Cluster, now: float) -> None:
    decisions = plan_placement(*cluster, now=now)
    pending = sorted(name_of(manifest) for manifest in pods_of(cluster) if read_request(manifest).pending)
    told = sorted(decision.name for decision in decisions if not isinstance(decision, Evict))
    assert told == pending
    assert all(waits(decisions).values())
    assert all(sentence.count("(") == sentence.count(")") for sentence in waits(decisions).values())


@given(clusters(), MOMENTS)
def test_no_resource_of_a_node_is_ever_over_committed(cluster: Cluster, now: float) -> None:
    before = usage(cluster)
    after = usage(applied(cluster, plan_placement(*cluster, now=now)))
    for manifest in cluster[1]:
        has = read_amounts(manifest["status"]["allocatable"])
        for resource, amount in after[name_of(manifest)].items():
            grown = amount > before[name_of(manifest)].get(resource, 0)
            assert not grown or amount <= has.get(resource, 0), (name_of(manifest), resource)


def usage(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """What pods hold on each node, summed here by hand from the manifests."""
    held: dict[str, dict[str, Any]] = {name_of(manifest): {} for manifest in cluster[1]}
    for manifest in pods_of(cluster):
        place = manifest["spec"].get("nodeName")
        if place in held and manifest["status"]["phase"] in ("Pending", "Running"):
            resources = manifest["spec"]["containers"][0]["resources"]
            wanted = {"pods": "1", **resources["limits"], **resources["requests"]}
            for resource, text in wanted.items():
                held[place][resource] = held[place].get(resource, 0) + read_quantity(text)
    return held


@given(clusters(), MOMENTS)
def test_a_gang_is_bound_whole_or_not_at_all(cluster: Cluster, now: float) -> None:
    places = bound(plan_placement(*cluster, now=now))
    minimum = {name_of(manifest): manifest["spec"]["minMember"] for manifest in cluster[2]}
    members: dict[str, list[Manifest]] = {}
    for manifest in pods_of(cluster):
        request = read_request(manifest)
        if request.groups:
            members.setdefault(request.groups[0][1].name, []).append(manifest)
    for name, pods in members.items():
        if any(name_of(manifest) in places for manifest in pods):
            assert sum(is_there(manifest, places) for manifest in pods) >= minimum[name]


def is_there(manifest: Manifest, places: dict[str, str]) -> bool:
    request = read_request(manifest)
    on_a_node = request.holds or request.phase == "Succeeded"
    return name_of(manifest) in places or (on_a_node and not request.deleting)


@given(clusters(), MOMENTS)
def test_ports_of_different_owners_never_meet_on_a_node(cluster: Cluster, now: float) -> None:
    places = bound(plan_placement(*cluster, now=now))
    requests = [read_request(manifest) for manifest in pods_of(applied(cluster, plan_placement(*cluster, now=now)))]
    for new in (request for request in requests if request.key.name in places):
        for other in (request for request in requests if request.holds and request.node == new.node):
            meet = any(a.start < b.stop and b.start < a.stop for a in new.ports for b in other.ports)
            assert not meet or new.owner == other.owner


@given(clusters(), MOMENTS, st.randoms(use_true_random=False))
def test_the_same_cluster_in_any_order_gives_the_same_plan(cluster: Cluster, now: float, random: Any) -> None:
    shuffled = tuple(random.sample(part, len(part)) for part in cluster)
    assert plan_placement(*shuffled, now=now) == plan_placement(*cluster, now=now)


@given(clusters(), MOMENTS)
def test_planned_twice_nothing_more_is_bound_and_no_sentence_changes(cluster: Cluster, now: float) -> None:
    first = plan_placement(*cluster, now=now)
    second = plan_placement(*applied(cluster, first), now=now)
    assert bound(second) == {}
    assert waits(second) == waits(first)
