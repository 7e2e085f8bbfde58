"""What `kubectl get`, `describe` and `wait` read of a job; and without a change nothing is written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from paddock.jobs.model import Settings
from paddock.kube.meta import Manifest, metadata, uid_of
from support.operator_seam import JOBS, Seam, build_job, have_pods, pods_of, running, set_phase, settled, status_of
from support.waiting import until
from support.worlds import ControlPlane, World, open_real

WAIT = 180.0


async def _in_phase(world: World, phase: str) -> Manifest:
    status = await status_of(world.api, namespace=world.namespace)
    return status if status.get("phase") == phase else {}


async def train(world: World, **spec: Any) -> dict[str, Manifest]:
    """A job all of whose ranks run."""
    await world.api.create(JOBS, build_job(namespace=world.namespace, ps=1, **spec))
    pods: dict[str, Manifest] = await until(lambda: have_pods(world.api, 3, namespace=world.namespace), WAIT)
    for number, pod in enumerate(sorted(pods)):
        await set_phase(world.api, pod, "Running", address=f"10.98.0.{number + 2}", namespace=world.namespace)
    await until(lambda: _in_phase(world, "Running"), WAIT)
    return pods


async def test_the_status_names_pods_and_says_how_and_why(world: World) -> None:
    async with running(world.api, Settings()):
        await world.api.create(JOBS, build_job("waits", namespace=world.namespace, worker=1))
        waiting = await until(lambda: _conditions(world, "waits"), WAIT)
        pods = await train(world)
        status = await status_of(world.api, namespace=world.namespace)
    assert (waiting[0]["type"], waiting[0]["status"]) == ("Running", "False")
    assert waiting[0]["message"], "in words"
    names = ["demo-worker-0", "demo-worker-1"]
    assert status["worker"]["refs"] == [
        {"apiVersion": "v1", "kind": "Pod", "namespace": world.namespace, "name": name, "uid": uid_of(pods[name])}
        for name in names
    ]
    assert (status["observedGeneration"], status["startTime"][:2]) == (1, "20")
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [("Running", "True")]


async def _conditions(world: World, name: str) -> list[Manifest]:
    return list((await status_of(world.api, name, world.namespace)).get("conditions") or ())


async def test_a_job_at_rest_is_not_written(world: World) -> None:
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        await train(world)
        await settled(seam)
        del seam.requests[:]
        await world.api.patch(JOBS, world.namespace, "demo", {"metadata": {"annotations": {"look": "again"}}})
        # A job that comes later has its pods: the operator has looked at this one too.
        await world.api.create(JOBS, build_job("later", ps=0, namespace=world.namespace))
        await until(lambda: have_pods(world.api, 2, "later", world.namespace), WAIT)
        await settled(seam)
    assert {verb for verb, _, name in seam.requests if name.partition("-")[0] == "demo"} <= {"get"}


async def test_of_a_finished_job_the_counts_alone_change_and_what_is_known_of_its_spec(
    world: World,
) -> None:
    """`kubectl wait` ignores conditions of an earlier observedGeneration."""
    async with running(world.api, Settings(status_wait=0)):
        await train(world, cleanPodPolicy="Always")
        await set_phase(world.api, "demo-worker-0", "Failed", 1, namespace=world.namespace)
        before = await until(lambda: _in_phase(world, "Failed"), WAIT)
        await until(lambda: _has_no_pods(world), WAIT)
        await world.api.patch(JOBS, world.namespace, "demo", {"spec": {"worker": {"replicas": 5}}})
        after = await until(lambda: _seen_without_pods(world, 2), WAIT)
    assert after == before | {
        "observedGeneration": 2,
        "lastValidSpec": after["lastValidSpec"],
        "ps": {"ready": "0/1"},
        "worker": {"ready": "0/2", "failed": 1},
    }, "no pod is left; what failed is counted, and the size is that of the gang"
    assert after["lastValidSpec"] != before["lastValidSpec"]


async def _has_no_pods(world: World) -> bool:
    return not await pods_of(world.api, namespace=world.namespace)


async def _seen_without_pods(world: World, generation: int) -> Manifest:
    """The watch may tell of the edit before it tells that the pods are gone."""
    job = await world.api.get(JOBS, world.namespace, "demo")
    status: Manifest = job.get("status") or {}
    seen = status.get("observedGeneration") == generation == metadata(job)["generation"]
    return status if seen and "running" not in status["ps"] | status["worker"] else {}


@pytest.mark.kubernetes
async def test_kubectl_waits_and_scales(control_plane: ControlPlane) -> None:
    job = "paddlejob.batch.paddlepaddle.org/demo"
    async with open_real(control_plane) as world, running(world.api, Settings()):
        await train(world)
        await kubectl(control_plane, world, "scale", job, "--replicas=1")
        pods = await until(lambda: _has_two(world), WAIT)
        for number, pod in enumerate(sorted(pods)):
            await set_phase(world.api, pod, "Running", address=f"10.98.1.{number + 2}", namespace=world.namespace)
        await kubectl(control_plane, world, "wait", job, "--for=condition=Running", "--timeout=180s")
        await set_phase(world.api, "demo-worker-0", "Succeeded", namespace=world.namespace)
        told = await kubectl(control_plane, world, "wait", job, "--for=condition=Succeeded", "--timeout=180s")
    assert "condition met" in told


async def _has_two(world: World) -> dict[str, Manifest]:
    found = await have_pods(world.api, 2, namespace=world.namespace)
    attempts = {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in found.values()}
    return found if attempts == {"1"} else {}


async def kubectl(plane: ControlPlane, world: World, *words: str) -> str:
    options = ("--kubeconfig", str(plane.kubeconfig), "-n", world.namespace)
    process = await asyncio.create_subprocess_exec(
        str(plane.kubectl), *options, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()
