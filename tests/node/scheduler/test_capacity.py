"""What is free on nodes beside many pods, and how much of the process planning has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster_objects import node, pod
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.node.scheduler.capacity import NodeInfo, build_node_infos
from paddock.node.scheduler.nodes import read_node
from paddock.node.scheduler.pod_request import Request, read_request
from paddock.node.scheduler.scheduler import choose_rest

_AMOUNTS = ({"cpu": "100m", "memory": "1Mi"}, {"cpu": "1"}, {"nvidia.com/gpu": "1"}, {})


@st.composite
def bound_pods(draw: st.DrawFn) -> list[Request]:
    kinds = st.tuples(st.sampled_from(_AMOUNTS), st.sampled_from(["laptop", "gone", ""]), st.sampled_from([None, 80]))
    drawn = draw(st.lists(kinds, max_size=12))
    return [
        read_request(pod(f"pod-{number}", requests=amounts, node=where, host_port=port))
        for number, (amounts, where, port) in enumerate(drawn)
    ]


@given(bound_pods())
def test_pods_that_ask_for_the_same_are_taken_together_as_one_by_one(requests: list[Request]) -> None:
    found = read_node(node(cpu="4", pods=10))
    (together,) = build_node_infos([found], requests)
    alone = NodeInfo(found, dict(found.amounts))
    for request in requests:
        if request.node == "laptop":
            alone.take(request)
    assert (together.free, together.ports) == (alone.free, alone.ports)


def test_pods_that_ask_for_the_same_share_one_mapping() -> None:
    first, second = (read_request(pod(name, requests={"cpu": "100m"})) for name in ("a", "b"))
    assert first.amounts is second.amounts


@pytest.mark.parametrize("amount", [10**30, "1" * 3000, "\udc80"])
def test_an_amount_that_is_no_short_json_is_read_or_refused_all_the_same(amount: object) -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": amount}}}]}
    if amount == "\udc80":
        with pytest.raises(ValueError, match="is not a quantity"):
            read_pod_amounts(spec)
    else:
        assert read_pod_amounts(spec)["cpu"] == 2**63 - 1  # the most that there is


@pytest.mark.parametrize(("took", "rest"), [(0.0, 0.0), (0.001, 0.004), (0.1, 0.4), (3.0, 1.0)])
def test_planning_has_a_fifth_of_the_process_and_no_pod_waits_for_more_than_a_second(took: float, rest: float) -> None:
    assert choose_rest(took) == pytest.approx(rest)
