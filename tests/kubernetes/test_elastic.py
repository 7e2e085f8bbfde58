"""An elastic gang with Kubernetes' own scheduler and kubelets (hollow ones): smaller where a node is cordoned, whole
again when it is back. What runs nothing on a laptop must run nothing there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.jobs.model import Settings
from paddock.kube.meta import NODES, PODS, Manifest, name_of
from support.operator_seam import JOBS, build_job, running, status_of
from support.waiting import until
from support.worlds import ControlPlane, World, open_hollow_nodes, open_real

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(600)]

WAIT = 240.0
ALONE = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"alone": "true"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
"""One pod for each node."""


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ControlPlane]:
    with open_hollow_nodes(tmp_path / "plane", 2) as plane:
        yield plane


async def cordon(world: World, node: str, *, away: bool) -> None:
    await world.api.patch(NODES, "", node, {"spec": {"unschedulable": away}})


async def gang(world: World, size: int) -> dict[str, Manifest]:
    """The pods of a gang of this size that all run, without the spare ones."""
    found = {name_of(pod): pod for pod in (await world.api.list(PODS, world.namespace)).items}
    mine = {name: pod for name, pod in found.items() if "paddock.dev/spare" not in pod["metadata"]["labels"]}
    runs = all(pod["status"].get("phase") == "Running" for pod in mine.values())
    return mine if len(mine) == size and runs else {}


async def test_a_gang_begins_with_the_ranks_that_have_room_and_grows_when_a_node_is_back(nodes: ControlPlane) -> None:
    job = build_job(ps=0, worker=2)
    job["metadata"]["annotations"] = {"paddock.dev/elastic": "1-2"}
    template = job["spec"]["worker"]["template"]
    template["metadata"] = {"labels": {"alone": "true"}}
    template["spec"] |= {"terminationGracePeriodSeconds": 1, "affinity": ALONE}
    settings = Settings(elastic_wait=3, elastic_settle=3)
    async with open_real(nodes) as world, running(world.api, settings):
        names = sorted(map(name_of, (await world.api.list(NODES)).items))
        await cordon(world, names[1], away=True)
        job["metadata"]["namespace"] = world.namespace
        await world.api.create(JOBS, job)
        small = await until(lambda: gang(world, 1), WAIT)
        assert [pod["spec"]["nodeName"] for pod in small.values()] == [names[0]]
        told = await until(lambda: _told(world), WAIT)
        assert (told["role"], told["size"], told["least"], told["most"]) == ("worker", 1, 1, 2)
        assert "nodes are available" in told["message"]
        spares = [pod for pod in (await world.api.list(PODS, world.namespace)).items if name_of(pod) not in small]
        assert [name_of(pod) for pod in spares] == ["demo-worker-1"]
        await cordon(world, names[1], away=False)
        whole = await until(lambda: gang(world, 2), WAIT)
        assert {pod["spec"]["nodeName"] for pod in whole.values()} == set(names)
        status = await status_of(world.api, namespace=world.namespace)
    assert status.get("gangSize") is None
    assert (status["attempt"], status.get("restarts", 0)) == (2, 0)


async def _told(world: World) -> Manifest:
    """The arguments of the cause, once the scheduler has looked at the spare pod."""
    cause = (await status_of(world.api, namespace=world.namespace)).get("cause") or {}
    found: Manifest = cause["args"] if cause.get("reason") == "RunsSmaller" else {}
    return found if found.get("message") else {}
