"""What Kubernetes' own scheduler does with gangs without PodGroups, and what Paddock says of it.

kube-scheduler places pods one by one. Two jobs of two pods on a node of two devices get one device each, and both wait
for ever: nothing that Paddock creates prevents it. It says who holds what; once one job is suspended the other runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.model import CauseRecord, Settings
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import NODES, PODS, PRIORITY_CLASSES, Manifest, name_of
from support.operator_seam import running
from support.waiting import until
from support.worlds import ControlPlane, World, open_hollow_nodes, open_real

GPU = "nvidia.com/gpu"
FIRST, SECOND = "x", "x-n"
"""Names by whose order kube-scheduler, when it starts, sees a pod of each job first: x-master-0, x-n-master-0."""

pytestmark = pytest.mark.kubernetes


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ControlPlane]:
    with open_hollow_nodes(tmp_path / "plane", 1) as plane:
        plane.down("--only", "kube-scheduler")
        yield plane


FIRST_CLASS = "masters-first"


def build_pair(name: str, namespace: str) -> Manifest:
    container = {"name": "pytorch", "image": "torch:2", "resources": {"limits": {GPU: "1"}}}
    # Debian's 1.20.2 taints a hollow node whose network it has not seen.
    spec = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
    role = {"replicas": 1, "template": {"spec": spec}}
    # The scheduler tries pods by priority, then by age, and pods of one second in any order: here Masters come first.
    master = {"replicas": 1, "template": {"spec": {**spec, "priorityClassName": FIRST_CLASS}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": {"Master": master, "Worker": role}},
    }


async def placed(world: World) -> dict[str, list[str]]:
    """The pods of each job that have a node."""
    found: dict[str, list[str]] = {FIRST: [], SECOND: []}
    for pod in (await world.api.list(PODS, world.namespace)).items:
        if pod["spec"].get("nodeName"):
            found[pod["metadata"]["labels"]["training.kubeflow.org/job-name"]].append(name_of(pod))
    return found


@pytest.mark.slow
async def test_two_jobs_get_half_of_a_node_each_and_the_cause_says_who_holds_what(nodes: ControlPlane) -> None:
    torch = KUBEFLOW_PYTORCH.resource
    async with open_real(nodes) as world:
        api, namespace = world.api, world.namespace
        amounts = {"status": {part: {GPU: "2"} for part in ("capacity", "allocatable")}}
        await api.patch(NODES, "", "hollow-1", amounts, subresource="status")
        await api.create(PRIORITY_CLASSES, {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": FIRST_CLASS},
            "value": 1000, "preemptionPolicy": "Never",
        })  # fmt: skip
        kinds: dict[str, Any] = {"kinds": {torch: KUBEFLOW_PYTORCH}, "namespaces": (namespace,)}
        async with running(api, Settings(), **kinds):
            for name in (FIRST, SECOND):
                await api.create(torch, build_pair(name, namespace))

            async def all_made() -> bool:
                return len((await api.list(PODS, namespace)).items) == 4

            await until(all_made)
            nodes.up("--controllers")

            async def half() -> bool:
                return sum(map(len, (await placed(world)).values())) == 2

            await until(half)
            assert [len(pods) for pods in (await placed(world)).values()] == [1, 1]

            async def said(name: str) -> str:
                cause = ((await api.get(torch, namespace, name)).get("status") or {}).get("cause") or {}
                return (
                    explain(CauseRecord(cause["reason"], cause["args"])) if cause.get("args", {}).get("placed") else ""
                )

            for name in (FIRST, SECOND):
                sentence = await until(lambda name=name: said(name))
                assert sentence.startswith(
                    "waiting for room for 1 of 2 pods, while 1 other holds room: no node has enough"
                )
            await api.patch(torch, namespace, SECOND, {"spec": {"runPolicy": {"suspend": True}}})

            async def whole() -> bool:
                return len((await placed(world))[FIRST]) == 2

            await until(whole)
