"""Nodes that a job avoids, with Kubernetes' own scheduler and hollow nodes: a job of which all nodes are suspects waits
for two minutes, and then runs on the one that was accused first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.jobs.model import Settings
from paddock.kube.meta import EVENTS, PODS, Manifest
from paddock.kube.times import format_time
from paddock.operator.readings import Readings
from support.operator_seam import JOBS, build_job, pods_of, running, status_of
from support.waiting import until
from support.worlds import ControlPlane, World, open_hollow_nodes, open_real

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(600)]

WAIT = 300.0
NODES = ("hollow-1", "hollow-2")


class Clock:
    """The operator's, in seconds since the epoch: the present, moved by the test."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


async def wake(world: World) -> None:
    """Starts a reconcile: delays of the operator are real time here."""
    await world.api.patch(JOBS, world.namespace, "demo", {"metadata": {"annotations": {"woken": "1"}}})


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ControlPlane]:
    with open_hollow_nodes(tmp_path / "plane", 2) as plane:
        yield plane


async def test_a_job_avoids_its_suspects_and_lets_the_oldest_go_where_there_is_no_other_node(
    nodes: ControlPlane,
) -> None:
    clock = Clock()
    job = build_job(ps=0, worker=1)
    job["spec"]["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    async with open_real(nodes) as world:
        job["metadata"]["namespace"] = world.namespace
        await world.api.create(JOBS, job)
        accused = {
            name: {"reason": "FailedFirst", "attempts": [0, 1], "until": format_time(time.time() + 3600 - 60 * number)}
            for number, name in enumerate(NODES)
        }
        begun = {"phase": "Pending", "attempt": 2, "suspects": accused}
        await world.api.patch(JOBS, world.namespace, "demo", {"status": begun}, subresource="status")
        async with running(world.api, Settings(avoids_nodes=True), readings=Readings(clock)):
            pod = await until(lambda: _is_refused(world), WAIT)
            terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            fields = [each["values"] for term in terms["nodeSelectorTerms"] for each in term["matchFields"]]
            assert fields == [[name] for name in NODES]
            clock.now += 300
            await wake(world)
            found = await until(lambda: _runs(world), WAIT)
            status = await status_of(world.api, namespace=world.namespace)
            said = await until(lambda: _find_event(world), WAIT)
    assert (found["spec"]["nodeName"], status["attempt"]) == ("hollow-2", 3), "the one whose time is over first"
    assert sorted(status["suspects"]) == ["hollow-1"]
    assert said.startswith("node hollow-2 is not avoided any more")


async def _is_refused(world: World) -> Manifest:
    """The pod, once the scheduler says that no node fits what it says of nodes."""
    for pod in (await pods_of(world.api, namespace=world.namespace)).values():
        for each in pod["status"].get("conditions") or ():
            if each["type"] == "PodScheduled" and "affinity" in str(each.get("message")):
                return pod
    return {}


async def _runs(world: World) -> Manifest:
    found = (await world.api.list(PODS, world.namespace)).items
    return found[0] if len(found) == 1 and found[0]["status"].get("phase") == "Running" else {}


async def _find_event(world: World) -> str:
    events = (await world.api.list(EVENTS, world.namespace)).items
    return next((str(each["message"]) for each in events if each["reason"] == "NodesNotAvoided"), "")
