"""The rows of nodes, and their page."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE
from paddock.kube.meta import NODES, PODS, Manifest
from paddock.kube.usage import NODE_METRICS
from paddock.views.nodes import read_node_rows
from support.places import serve_place

READY = {"type": "Ready", "status": "True"}


def build_node(name: str, *, conditions: Any = (READY,), spec: Any = None, **allocatable: str) -> Manifest:
    has = {
        "cpu": "8",
        "memory": "16Gi",
        "pods": "110",
        **{key.replace("__", "/"): text for key, text in allocatable.items()},
    }
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec or {},
        "status": {"conditions": list(conditions), "allocatable": has, "nodeInfo": {"kubeletVersion": "v1.34.0"}},
    }  # fmt: skip


def build_pod(name: str, node: str, job: str = "", phase: str = "Running", **requests: str) -> Manifest:
    owner = {"apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind, "name": job, "uid": job, "controller": True}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": [owner] if job else []},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"requests": requests}}]},
        "status": {"phase": phase},
    }


def test_asked_is_the_sum_of_pods_that_have_not_ended() -> None:
    pods = [
        build_pod("a-0", "one", "a", cpu="500m", memory="1Gi"),
        build_pod("a-1", "one", "a", cpu="1"),
        build_pod("b-0", "one", "b", cpu="2"),
        build_pod("done", "one", "c", "Succeeded", cpu="4"),
        build_pod("other", "one", cpu="250m"),
        build_pod("waits", "", "d", "Pending", cpu="4"),
        build_pod("elsewhere", "two", "d", cpu="4"),
    ]
    (row,) = read_node_rows([build_node("one")], pods)
    assert row.amounts == {"cpu": (Fraction("3.75"), 8), "memory": (2**30, 16 * 2**30)}
    assert [(each.key.name, each.pods) for each in row.jobs] == [("a", 2), ("b", 1)]
    assert (row.pods, row.others) == ((4, 110), 1)


@pytest.mark.parametrize(
    ("node", "state", "troubles", "taints"),
    [
        (build_node("n"), "Ready", [], ()),
        (build_node("n", spec={"unschedulable": True}), "Cordoned", [], ()),
        (build_node("n", conditions=[]), "NotReady", [], ()),
        (build_node("n", conditions=[{"type": "Ready", "status": "Unknown", "message": "silent"}]), "NotReady",
         [("Ready", "silent")], ()),
        (build_node("n", conditions=[READY, {"type": "DiskPressure", "status": "True", "reason": "Full"}]), "Ready",
         [("DiskPressure", "Full")], ()),
        (build_node("n", conditions=[READY, {"type": "DiskPressure", "status": "False"}]), "Ready", [], ()),
        (build_node("n", spec={"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                                          {"key": "away", "effect": "NoExecute"}]}), "Ready", [],
         ("gpu=yes:NoSchedule", "away:NoExecute")),
    ],
)  # fmt: skip
def test_a_node_says_whether_it_takes_pods(node: Manifest, state: str, troubles: Any, taints: Any) -> None:
    (row,) = read_node_rows([node], [])
    assert (row.state, [(each.condition, each.message) for each in row.troubles], row.taints) == (
        state,
        troubles,
        taints,
    )


def test_trouble_comes_first() -> None:
    nodes = [build_node("a"), build_node("z", conditions=[]), build_node("m", spec={"unschedulable": True})]
    assert [row.name for row in read_node_rows(nodes, [])] == ["z", "m", "a"]


def test_an_amount_that_is_no_quantity_is_left_out() -> None:
    (row,) = read_node_rows([build_node("one", cpu="many")], [])
    assert list(row.amounts) == ["memory"]


async def test_a_thousand_nodes_are_pages_of_a_hundred(tmp_path: Path) -> None:
    nodes = [build_node(f"node-{number:04}", **{"nvidia.com__gpu": "8"}) for number in range(1000)]
    pods = [build_pod(f"big-{number}", f"node-{number:04}", "big", **{"nvidia.com/gpu": "8"}) for number in range(3)]
    async with serve_place({NODES: nodes, PODS: pods}, tmp_path) as place:
        first, last = await place.read("/nodes"), await place.read("/nodes?page=10")
        found = await place.read("/nodes?q=0777")
        assert "node-0000" in await place.read(f"/nodes?page={'9' * 5_000}"), "no address breaks the page"
    assert first.count("<tr id=") == 100 and "node-0000" in first and "node-0999" in last
    assert "1000 Ready" in first and "24 of 8000 GPUs asked for" in first
    assert found.count("<tr id=") == 1 and "8 / 8" in first


async def test_what_is_used_is_shown_where_it_is_measured_and_asked_for_once_by_many_pages(tmp_path: Path) -> None:
    measured = {"metadata": {"name": "one"}, "usage": {"cpu": "1250m", "memory": "3Gi"}}
    objects = {NODES: [build_node("one"), build_node("two")], NODE_METRICS: [measured]}
    async with serve_place(objects, tmp_path) as place:
        page = await place.read("/nodes")
        await place.read("/nodes")
        assert place.api.listed == 1
    async with serve_place({NODES: [build_node("one")]}, tmp_path) as place:
        assert ">used<" not in await place.read("/nodes")
    assert page.count(">used<") == 2 and ">1.25<" in page and ">3.0 GiB<" in page


async def test_a_node_on_a_phone_says_what_each_number_is(tmp_path: Path) -> None:
    async with serve_place({NODES: [build_node("n-1")]}, tmp_path, local=False) as place:
        page = await place.read("/nodes")
        assert 'class="rows labelled"' in page and 'data-label="CPU: asked / has"' in page
        empty = await place.read("/nodes?q=nowhere")
    assert "There is no such node." in empty and '<a class="button" href="/nodes">Clear filter</a>' in empty
