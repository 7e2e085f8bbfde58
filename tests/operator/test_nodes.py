"""Nodes are read side by side, and one reading serves all jobs for as long as it is new enough."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.model import NodeCondition, NodeState
from paddock.jobs.policies.lost import READ_NODE_AGAIN
from paddock.kube.errors import Forbidden, Unavailable
from paddock.kube.meta import NODES, PODS, Manifest
from paddock.operator.nodes import FRESH_SECONDS, MOST_AT_ONCE, Nodes
from paddock.operator.readings import Readings
from support.operator_seam import JOBS, Request, Seam, build_job, have_pods, running, settled, status_of
from support.waiting import until

GONE = NodeCondition(NodeState.GONE)


class Gate:
    """Holds requests for nodes until it is opened."""

    def __init__(self, seam: Seam) -> None:
        self.waiting = self.most = 0
        self.opened = asyncio.Event()
        seam.before = self._hold

    async def _hold(self, request: Request) -> None:
        if request[1] != NODES.plural:
            return
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.opened.wait()
        self.waiting -= 1


def reads(seam: Seam) -> list[str]:
    return [name for verb, plural, name in seam.requests if (verb, plural) == ("get", NODES.plural)]


async def test_nodes_are_read_side_by_side_and_not_all_at_once(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    gate, nodes = Gate(seam), Nodes(seam, lambda: 100.0)
    fetching = asyncio.create_task(nodes.fetch(f"n{number}" for number in range(200)))
    await until(lambda: gate.waiting == MOST_AT_ONCE)
    gate.opened.set()
    assert await fetching == {f"n{number}": GONE for number in range(200)}
    assert gate.most == MOST_AT_ONCE
    assert len(reads(seam)) == 200


async def test_a_node_is_read_once_for_all_that_ask_until_the_reading_is_old(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    gate, moment = Gate(seam), [100.0]
    nodes = Nodes(seam, lambda: moment[0])
    fetching = [asyncio.create_task(nodes.fetch(["n1"])) for _ in range(16)]
    await until(lambda: gate.waiting == 1)
    fetching.pop().cancel()  # the others wait on
    gate.opened.set()
    assert await asyncio.gather(*fetching) == [{"n1": GONE}] * 15
    await cluster.create(NODES, build_node("n1"))
    moment[0] += READ_NODE_AGAIN - 0.1
    assert await nodes.fetch(["n1"]) == {"n1": GONE}
    assert reads(seam) == ["n1"]
    moment[0] += 0.1
    assert await nodes.fetch(["n1"]) != {"n1": GONE}
    assert reads(seam) == ["n1"] * 2


async def test_what_a_clock_that_was_set_back_dates_is_read_again(cluster: LocalApi) -> None:
    seam, moment = Seam(cluster), [100.0]
    nodes = Nodes(seam, lambda: moment[0])
    await nodes.fetch(["n1"])
    moment[0] = 50.0
    await nodes.fetch(["n1"])
    assert reads(seam) == ["n1"] * 2


async def test_a_node_that_could_not_be_read_is_read_again_and_one_that_may_not_be_is_unknown(
    cluster: LocalApi,
) -> None:
    seam = Seam(cluster)
    nodes = Nodes(seam, lambda: 100.0)
    errors = [Unavailable("away"), Forbidden("nodes is forbidden")]

    async def fail(request: Request) -> None:
        raise errors.pop(0)

    seam.before = fail
    with pytest.raises(Unavailable):
        await nodes.fetch(["n1"])
    assert await nodes.fetch(["n1"]) == {"n1": NodeCondition(NodeState.UNKNOWN)}
    assert await nodes.fetch(["n1"]) == {"n1": NodeCondition(NodeState.UNKNOWN)}
    assert len(reads(seam)) == 2


def build_node(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


async def test_jobs_whose_pods_wait_on_one_silent_node_read_it_once(cluster: LocalApi) -> None:
    names = [f"job-{number}" for number in range(8)]
    lost = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await cluster.create(NODES, build_node("n1"))
    await cluster.patch(NODES, "", "n1", {"status": {"conditions": [lost]}}, subresource="status")
    seam, now = Seam(cluster), [1000.0]
    async with running(seam, readings=Readings(lambda: now[0])):
        for name in names:
            await cluster.create(JOBS, build_job(name, ps=0, worker=1))
        for name in names:
            (pod,) = await until(partial(have_pods, cluster, 1, name))
            await cluster.create(PODS, build_binding(pod, "n1"), namespace="default", name=pod, subresource="binding")
        await until(lambda: have_all_reason(cluster, names, "WaitingForAddresses", "PodsStarting"))
        await settled(seam)
        now[0] += 61
        for name in names:
            await cluster.patch(JOBS, "default", name, {"metadata": {"annotations": {"wake": "up"}}})
        await until(lambda: have_all_reason(cluster, names, "NodeSilent"))
    assert reads(seam) == ["n1"]


def build_binding(pod: str, node: str) -> Manifest:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    metadata = {"name": pod, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


async def have_all_reason(api: LocalApi, names: list[str], *reasons: str) -> bool:
    causes = [(await status_of(api, name)).get("cause") or {} for name in names]
    return all(cause.get("reason") in reasons for cause in causes)


async def test_a_node_by_whose_state_a_pod_is_deleted_by_force_is_read_anew(cluster: LocalApi) -> None:
    """It may be back: its pods live, and another of their ranks must not be made beside them."""
    seam, moment = Seam(cluster), [100.0]
    nodes = Nodes(seam, lambda: moment[0])
    await nodes.fetch(["n1"])
    moment[0] += FRESH_SECONDS + 1
    await nodes.fetch(["n1"])
    assert reads(seam) == ["n1"], "for a cause what was read is good enough"
    await nodes.fetch(["n1"], fresh=["n1"])
    assert reads(seam) == ["n1", "n1"]
