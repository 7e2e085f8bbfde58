"""A node that dies with ranks on it, on a real control plane with hollow nodes: one new gang, on the other node.

Takes two minutes: 40 seconds until Kubernetes marks a silent node not ready, then the operator's delay before a forced
delete. Tolerations make Kubernetes delete the pods after one second, in place of five minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.jobs.model import Settings
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import CONFIG_MAPS, EVENTS, NODES, PODS, Manifest, is_deleting, labels_of, name_of, uid_of
from support.operator_seam import JOBS, build_job, running, status_of
from support.waiting import until
from support.worlds import ControlPlane, World, open_hollow_nodes, open_real

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(600)]

WAIT = 300.0
POD = {
    "terminationGracePeriodSeconds": 1,
    "restartPolicy": "Never",
    "tolerations": [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
        for why in ("not-ready", "unreachable")
    ],
}


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane of its own with a scheduler and two hollow nodes, one of which will be killed."""
    with open_hollow_nodes(tmp_path / "plane", 2) as plane:
        yield plane


async def gang(world: World, attempt: int) -> dict[str, Manifest]:
    """The pods of this attempt, once all run and nothing is left of another."""
    found = {name_of(pod): pod for pod in (await world.api.list(PODS, world.namespace)).items}
    run = all(pod["status"].get("phase") == "Running" and not is_deleting(pod) for pod in found.values())
    labels = {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in found.values()}
    return found if len(found) == 2 and run and labels == {str(attempt)} else {}


def kill(plane: ControlPlane, node: str) -> None:
    state = json.loads((plane.home / "nodes" / "state.json").read_text())
    os.kill(state["processes"][node]["pid"], signal.SIGKILL)


async def evict(world: World, node: str) -> None:
    """Taints the node and deletes its pods, as the node lifecycle controller does. That of 1.20 never comes to it in
    5 min where it once saw all its nodes not ready ("master disruption mode"), and takes taints of others back."""
    unreachable = "node.kubernetes.io/unreachable"
    there = (await world.api.get(NODES, "", node))["spec"].get("taints") or []
    wanted = [{"key": unreachable, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    if not {"NoSchedule", "NoExecute"} <= {each["effect"] for each in there if each["key"] == unreachable}:
        await world.api.patch(NODES, "", node, {"spec": {"taints": wanted}})
    for pod in (await world.api.list(PODS, world.namespace)).items:
        if pod["spec"].get("nodeName") == node and not is_deleting(pod):
            with contextlib.suppress(NotFound, Conflict):  # the controller was faster
                await world.api.delete(PODS, world.namespace, name_of(pod), uid=uid_of(pod))


async def test_the_ranks_of_a_lost_node_are_forced_away_and_one_new_gang_runs_elsewhere(nodes: ControlPlane) -> None:
    job = build_job(ps=0, worker=2)
    template = job["spec"]["worker"]["template"]["spec"]
    template.update(POD)
    template["containers"][0]["resources"] = {"requests": {"cpu": "200m"}}
    async with open_real(nodes) as world, running(world.api, Settings()):
        job["metadata"]["namespace"] = world.namespace
        await world.api.create(JOBS, job)
        first = await until(lambda: gang(world, 0), WAIT)
        lost = first["demo-worker-0"]["spec"]["nodeName"]
        kill(nodes, lost)
        await until(lambda: _is_silent(world, lost), WAIT)
        await until(lambda: _waits_for(world, lost), WAIT)
        second = await until(lambda: gang(world, 1), WAIT)
        told = await until(lambda: _config_maps(world), WAIT)
        status = await until(lambda: _running(world), WAIT)
        events = await until(lambda: _forced(world), WAIT)
    assert {pod["spec"]["nodeName"] for pod in second.values()} == {"hollow-1", "hollow-2"} - {lost}
    assert not {uid_of(pod) for pod in first.values()} & {uid_of(pod) for pod in second.values()}
    assert told == {"1"}
    assert (status["attempt"], status["restarts"]) == (1, 0)
    stuck = {name for name, pod in first.items() if pod["spec"]["nodeName"] == lost}
    assert sum(event.get("count", 1) for event in events) == len(stuck), "each was forced once"


async def _is_silent(world: World, node: str) -> bool:
    """Whether its cause says that the node does not report."""
    cause = (await status_of(world.api, namespace=world.namespace)).get("cause") or {}
    return cause.get("reason") in ("NodeSilent", "WaitingForNode") and cause["args"]["nodes"] == [node]


async def _waits_for(world: World, node: str) -> bool:
    """Whether its cause names the pod that it waits for, and why. Its pods are evicted if they are not yet."""
    await evict(world, node)
    cause = (await status_of(world.api, namespace=world.namespace)).get("cause") or {}
    return cause.get("reason") == "WaitingForNode" and cause["args"]["nodes"] == [node]


async def _config_maps(world: World) -> set[str]:
    """The attempts that have one: the second's alone."""
    there = (await world.api.list(CONFIG_MAPS, world.namespace, labels="paddock.dev/job=demo")).items
    attempts = {labels_of(each)["paddock.dev/attempt"] for each in there}
    return attempts if attempts == {"1"} else set()


async def _running(world: World) -> Manifest:
    status = await status_of(world.api, namespace=world.namespace)
    return status if status.get("phase") == "Running" else {}


async def _forced(world: World) -> list[Manifest]:
    events = (await world.api.list(EVENTS, world.namespace)).items
    return [event for event in events if event.get("reason") == "PodForced"]
