"""What pods lack on the nodes of a cluster whose scheduler tells no amounts, and the sentence for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster_objects import node, pod
from paddock.kube.meta import Manifest
from paddock.node.scheduler import shortage
from paddock.node.scheduler.nodes import Fact, Node, explain_mismatch
from paddock.node.scheduler.placement import Wait, plan_placement
from paddock.node.scheduler.pod_request import Request, read_request
from paddock.node.scheduler.shortage import MOST_LOOKS, find_shortage, read_stock
from paddock.words.shortage import explain_shortage

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
STATE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
NEVER = ", so it cannot start here"


def ask(*names: str, owner: str = "own", **requests: str) -> list[Manifest]:
    """Pods that wait, each with these requests."""
    amounts = {name.replace("gpu", "nvidia.com/gpu"): amount for name, amount in requests.items()}
    return [pod(name, owner=owner, requests=amounts) for name in names]


def hold(name: str, owner: str, node: str, **requests: str) -> Manifest:
    (made,) = ask(name, owner=owner, **requests)
    made["spec"]["nodeName"] = node
    return made


def in_namespace(made: Manifest, namespace: str) -> Manifest:
    made["metadata"]["namespace"] = namespace
    return made


def say(nodes: list[Manifest], pods: list[Manifest], *, is_known: bool = True, **more: Any) -> str:
    """The sentence about the pods of the job `own`; empty where it is not room."""
    stock = read_stock(nodes, map(read_request, pods), is_known=is_known)
    assert stock is not None
    found = find_shortage(stock, stock.waiting.get("uid-own", ()), **more)
    return "" if found is None else str(explain_shortage(found))


TWO = [node("a"), node("b")]
FOUR_GPUS = [node("a", gpus=4), node("b", gpus=4)]
BIG = [hold("big1-0", "big1", "a", cpu="3"), hold("big1-1", "big1", "b", cpu="2")]
GPUS = [hold("x-0", "x", "a", gpu="2"), in_namespace(hold("y-0", "y", "b", gpu="1"), "team")]
MANY = [hold(f"j{index}-0", f"j{index}", "a", cpu="500m") for index in range(6)]
ENDED = {**hold("old", "old", "a", cpu="4"), "status": {"phase": "Succeeded"}}
LEAVING = hold("late", "late", "a", cpu="2")
LEAVING["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

ROWS: list[tuple[str, list[Manifest], list[Manifest], str]] = [
    ("what is free, and who holds the rest", [node("a")], [*ask("w", cpu="2"), BIG[0]],
     "needs 2 CPUs; 1 is free; big1 holds 3"),
    ("pods of one job are one holder", TWO, [*ask("w", cpu="4"), *BIG],
     "needs 4 CPUs; 3 are free; big1 holds 5"),
    ("it fits", TWO, [*ask("w", cpu="2"), BIG[0]], ""),
    ("nobody waits", TWO, BIG, ""),
    ("pods that have ended hold nothing", [node("a")], [*ask("w", cpu="4"), ENDED], ""),
    ("a pod that ends holds its room until then", [node("a")], [*ask("w", cpu="4"), LEAVING],
     "needs 4 CPUs; 2 are free; late holds 2"),
    ("at most three are named", [node("a")], [*ask("w", cpu="2"), *MANY],
     "needs 2 CPUs; 1 is free; j0 holds 0.5, j1 holds 0.5, j2 holds 0.5 and 3 more"),
    ("in pieces", FOUR_GPUS, [*ask("w", gpu="4"), *GPUS],
     "needs 4 GPUs on one node; 5 are free, at most 3 on one node; x holds 2 and y (team) holds 1"),
    ("several pods", FOUR_GPUS, [*ask("v", "w", gpu="3"), *GPUS],
     "needs 6 GPUs (2 × 3); 5 are free; x holds 2 and y (team) holds 1"),
    ("several pods, one of which is larger than what is free of any node", FOUR_GPUS,
     [*ask("v", gpu="4"), *ask("w", gpu="1"), *GPUS],
     "needs 5 GPUs in 2 pods, 4 of it on one node; 5 are free, at most 3 on one node; x holds 2 and y (team) holds 1"),
    ("room for a part", [node("a", gpus=5), node("b", gpus=3)], ask("v", "w", gpu="4"),
     "needs 8 GPUs (2 × 4); 8 are free, with room for 1 of 2 pods"),
    ("each resource is there, on another node", [node("a", cpu="8"), node("b", cpu="4", gpus=1)],
     [*ask("w", cpu="4", gpu="1"), hold("big1-0", "big1", "b", cpu="1")],
     "needs 4 CPUs and 1 GPU on one node, and none has all of that free; big1 holds 1 CPU"),
    ("no such device", TWO, ask("w", gpu="32"), f"asks for 32 GPUs; this cluster has none{NEVER}"),
    ("larger than any node", FOUR_GPUS, ask("w", gpu="8"),
     f"asks for 8 GPUs on one node; the largest has 4{NEVER}"),
    ("the nodes that it may use", [node("a", gpus=1), node("b", gpus=8, taints=[TAINT])], ask("w", gpu="8"),
     "asks for 8 GPUs on one node; the largest has 1; its selectors and the nodes' taints leave it 1 of 2 nodes"
     + NEVER),
    ("none on the nodes that it may use", [node("a"), node("b", gpus=8, taints=[TAINT])], ask("w", gpu="8"),
     "asks for 8 GPUs; the nodes that it may use have none; its selectors and the nodes' taints leave it 1 of 2 nodes"
     + NEVER),
    ("labels or taints alone are another reason", [node("a", taints=[TAINT])], ask("w", cpu="9"), ""),
    ("a cordoned node may come back", [node("a", cpu="2"), node("b", cpu="8", unschedulable=True)], ask("w", cpu="4"),
     "needs 4 CPUs; 2 are free"),
    ("so may one that is not ready", [node("a", cpu="2"), node("b", cpu="8", ready="False", taints=[STATE])],
     ask("w", cpu="4"), "needs 4 CPUs; 2 are free"),
    ("no node takes pods now", [node("a", unschedulable=True)], ask("w", cpu="4"), ""),
    ("the number of pods", [node("a", pods=1)], [*ask("w", cpu="1"), hold("x-0", "x", "a", cpu="1")],
     "the nodes have as many pods as they take, 1; x holds 1"),
    ("two resources", [node("a", memory="2Gi")], [*ask("w", cpu="4", memory="2Gi"),
                                                  hold("x-0", "x", "a", cpu="1", memory="1Gi")],
     "needs 4 CPUs; 3 are free; needs 2.0 GiB; 1.0 GiB is free; x holds 1 CPU"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "pods", "said"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_is_said(nodes: list[Manifest], pods: list[Manifest], said: str) -> None:
    assert say(nodes, pods) == said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "needs 12 GPUs (4 × 3); 8 are free"),
        ({"needs_all": True}, f"asks for 12 GPUs (4 × 3); this cluster has 8{NEVER}"),
        ({"is_known": False}, ""),
        ({"is_known": False, "needs_all": True},
         f"asks for 12 GPUs (4 × 3); this cluster has 8{NEVER}"),
        ({"named": frozenset({"nvidia.com/gpu"})}, "needs 12 GPUs (4 × 3); 8 are free"),
        ({"named": frozenset({"memory"})}, ""),
    ],
)  # fmt: skip
def test_a_gang_that_the_nodes_never_have_room_for(more: dict[str, Any], said: str) -> None:
    assert say(FOUR_GPUS, ask("a", "b", "c", "d", gpu="3"), **more) == said


def test_pods_that_have_a_node_count_for_the_whole() -> None:
    """The scheduler of a plain cluster places pods one by one."""
    pods = [*ask("c", "d", gpu="4"), hold("a-0", "own", "a", gpu="4"), hold("b-0", "own", "b", gpu="4")]
    assert say(FOUR_GPUS, pods, needs_all=True).startswith("asks for 16 GPUs (4 × 4); this cluster has 8")
    assert say(FOUR_GPUS, pods) == "needs 8 GPUs (2 × 4); none is free"


def test_roles_with_nodes_of_their_own_are_looked_at_one_by_one() -> None:
    nodes = [node("a", labels={"for": "ps"}), node("b", cpu="8", labels={"for": "worker"})]
    server, worker = ask("ps-0", "worker-0", cpu="5")
    server["spec"]["nodeSelector"], worker["spec"]["nodeSelector"] = {"for": "ps"}, {"for": "worker"}
    assert say(nodes, [server, worker]) == (
        "asks for 5 CPUs on one node; the largest has 4; its selectors and the nodes' taints leave it 1 of 2 nodes"
        + NEVER
    )


def test_a_node_that_cannot_be_read_leaves_nothing_known() -> None:
    assert read_stock([node("a", cpu="four")], [], is_known=True) is None


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), max_size=4),
    st.integers(1, 6),
)
def test_one_pod_has_a_shortage_where_the_local_scheduler_lets_it_wait_and_nowhere_else(
    sizes: list[int], held: list[tuple[int, int]], asked: int
) -> None:
    nodes = [node(f"n{index}", cpu=str(size)) for index, size in enumerate(sizes)]
    there = [hold(f"h{index}", f"h{index}", f"n{at}", cpu=str(amount)) for index, (amount, at) in enumerate(held)]
    pods = [*there, *ask("w", cpu=str(asked))]
    waits = any(isinstance(each, Wait) and each.name == "w" for each in plan_placement(pods, nodes))
    assert bool(say(nodes, pods)) is waits
    assert say(nodes, pods).endswith(NEVER) is (asked > max(sizes))


def name_terms(made: Manifest, *expressions: Manifest, kind: str = "matchExpressions") -> Manifest:
    required = {"nodeSelectorTerms": [{kind: list(expressions)}]}
    made["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return made


def own_terms(count: int, key: str) -> list[Manifest]:
    """Jobs that wait, each with an affinity of its own that every node but one matches, or all."""
    made = [ask(f"j{index}", owner=f"j{index}", cpu="9")[0] for index in range(count)]
    return [name_terms(each, {"key": key, "operator": "NotIn", "values": [f"n{at}"]}) for at, each in enumerate(made)]


def test_nodes_that_differ_in_nothing_that_a_pod_names_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many waiting jobs as one likes, each with an affinity of its own, times as many nodes as there are."""
    compared = list[str]()

    def compare(request: Request, node: Node) -> tuple[Fact, ...]:
        compared.append(node.name)
        return explain_mismatch(request, node)

    monkeypatch.setattr(shortage, "explain_mismatch", compare)
    nodes = [node(f"n{at}", labels={"host": f"n{at}", "zone": "ab"[at % 2]}) for at in range(200)]
    jobs = own_terms(40, "zone")
    stock = read_stock(nodes, map(read_request, jobs), is_known=True)
    assert stock is not None
    found = [find_shortage(stock, stock.waiting[f"uid-j{at}"]) for at in range(40)]
    assert all(found) and len(compared) == 40 * 2 and len(stock.alike) == 1


def test_the_work_of_one_command_is_bounded_and_the_next_goes_on_with_what_is_known() -> None:
    nodes = [node(f"n{at}", labels={"host": f"n{at}"}) for at in range(300)]
    stock = read_stock(nodes, map(read_request, own_terms(100, "host")), is_known=True)
    assert stock is not None
    stock.work.left = MOST_LOOKS // 20

    def look() -> list[bool]:
        return [find_shortage(stock, stock.waiting[f"uid-j{at}"]) is not None for at in range(100)]

    first = look()
    known = first.index(False)
    assert 0 < known < 50 and not any(first[known:]), "those that are asked about first have numbers"
    stock = stock.begin()
    assert stock.work.left == MOST_LOOKS and all(look())


def test_placing_many_pods_of_many_sizes_on_many_nodes_is_bounded() -> None:
    nodes = [node(f"n{at}", cpu="2") for at in range(100)]
    pods = [ask(f"w{at:03}", cpu=f"{1001 + at}m")[0] for at in range(101)]
    stock = read_stock(nodes, map(read_request, pods), is_known=True)
    assert stock is not None and find_shortage(stock, stock.waiting["uid-own"]) is not None
    stock = stock.begin()
    stock.work.left = 5_000
    assert find_shortage(stock, stock.waiting["uid-own"]) is None


def test_a_node_that_is_named_by_its_own_name() -> None:
    (made,) = ask("w", cpu="5")
    name_terms(made, {"key": "metadata.name", "operator": "In", "values": ["b"]}, kind="matchFields")
    assert say([node("a", cpu="8"), node("b"), node("c", cpu="8")], [made]).startswith(
        "asks for 5 CPUs on one node; the largest has 4; its selectors and the nodes' taints leave it 1 of 3"
    )
