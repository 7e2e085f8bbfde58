"""Volcano's PodGroups stopped the operator, were too small, or were made for jobs that had not asked for one.

28  test_a_pod_group_that_is_not_running_stops_neither_the_config_map_nor_the_next_gang
29  test_a_gang_is_admitted_only_if_its_devices_are_free_too
30  test_a_job_keeps_its_own_scheduler_and_gets_no_empty_queue
"""

from __future__ import annotations

import pytest

from defects.users_jobs import pod_of, read, stored
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects import pods
from paddock.kube.errors import AlreadyExists, NotFound
from paddock.kube.meta import CRDS, PODS, VOLCANO_POD_GROUPS, Manifest, uid_of
from support.operator_seam import JOBS, build_job, find_config_map, have_pods, running, set_phase, status_of
from support.waiting import until
from support.worlds import World

VOLCANO = Settings(pod_groups=VOLCANO_POD_GROUPS)


@pytest.mark.parametrize("phase", ["Pending", "Unknown"])
async def test_a_pod_group_that_is_not_running_stops_neither_the_config_map_nor_the_next_gang(
    world: World, phase: str
) -> None:
    """28: the reconcile ended there, also for a running job: no ConfigMap, no new pod, no clean-up."""
    api, namespace = world.api, world.namespace
    await _install_pod_groups(world)
    async with running(api, VOLCANO):
        await api.create(JOBS, build_job(ps=0, namespace=namespace))
        before = await until(lambda: have_pods(api, 2, namespace=namespace))
        await api.patch(VOLCANO_POD_GROUPS, namespace, "demo", {"status": {"phase": phase}})
        for number, pod in enumerate(sorted(before), 2):
            await set_phase(api, pod, "Running", address=f"10.98.0.{number}", namespace=namespace)
        await until(lambda: find_config_map(world.api, world.namespace))
        await until(lambda: _in_phase(world, "Running"))
        await api.delete(PODS, namespace, "demo-worker-0", grace=0)
        after = await until(lambda: _new_gang(world, before))
        assert len(after) == 2
        await api.patch(JOBS, namespace, "demo", {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: _has_no_group(world))


async def _install_pod_groups(world: World) -> None:
    """Volcano's PodGroup, with the fields that are read here."""
    group, schema = VOLCANO_POD_GROUPS, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": group.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": group.plural, "singular": "podgroup", "kind": group.kind}
    spec = {"group": group.group, "names": names, "scope": "Namespaced", "versions": [version]}
    metadata = {"name": f"{group.plural}.{group.group}"}
    try:
        await world.api.create(
            CRDS, {"apiVersion": CRDS.api_version, "kind": CRDS.kind, "metadata": metadata, "spec": spec}
        )
    except AlreadyExists:
        pass
    await until(lambda: _served(world))


async def _served(world: World) -> bool:
    try:
        await world.api.list(VOLCANO_POD_GROUPS, world.namespace)
    except NotFound:
        return False
    return True


async def _in_phase(world: World, phase: str) -> bool:
    return (await status_of(world.api, namespace=world.namespace)).get("phase") == phase


async def _new_gang(world: World, before: dict[str, Manifest]) -> dict[str, Manifest]:
    now = await have_pods(world.api, 2, namespace=world.namespace)
    old = {uid_of(pod) for pod in before.values()}
    return now if now and old.isdisjoint(uid_of(pod) for pod in now.values()) else {}


async def _has_no_group(world: World) -> bool:
    return not (await world.api.list(VOLCANO_POD_GROUPS, world.namespace)).items


def test_a_gang_is_admitted_only_if_its_devices_are_free_too() -> None:
    """29: limits counted only for containers without any request, so that a gang was let in without a GPU."""
    job = build_job(ps=0)
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": 2}}
    group = pods.build_pod_group(PADDLEPADDLE.read_job(stored(job)), VOLCANO_POD_GROUPS)
    assert group["spec"]["minResources"] == {"cpu": "1", "nvidia.com/gpu": "4"}


def test_a_job_keeps_its_own_scheduler_and_gets_no_empty_queue() -> None:
    """30: with the flag every job that named no scheduler was taken, with a queue of no name."""
    job = build_job(ps=0)
    plain = pod_of(PADDLEPADDLE.read_job(stored(job)), "worker-0")
    assert "schedulerName" not in plain["spec"]
    assert not any("volcano" in key for key in plain["metadata"]["annotations"])
    gang = pods.build_pod(read(ps=0), Rank("worker", 0), 0, None, VOLCANO)
    assert "volcano.sh/queue-name" not in gang["metadata"]["annotations"]
    job["spec"]["worker"]["template"]["spec"]["schedulerName"] = "mine"
    named = pods.build_pod(PADDLEPADDLE.read_job(stored(job)), Rank("worker", 0), 0, None, VOLCANO)
    assert named["spec"]["schedulerName"] == "mine"
