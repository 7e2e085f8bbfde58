"""Names are used again, and paddle-operator treated every object with the expected name as its own.

19  test_ranks_never_read_a_foreign_config_map_with_the_jobs_name
20  test_a_failed_pod_of_the_job_before_does_not_fail_the_new_job
23  test_a_job_whose_name_is_no_valid_host_name_trains
"""

from __future__ import annotations

import pytest

from paddock.jobs.model import Settings
from paddock.kube.errors import Conflict, Forbidden, InternalError, NotFound
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES, Manifest, name_of, uid_of
from support.operator_seam import JOBS, build_job, find_config_map, have_pods, running, set_phase, status_of
from support.waiting import until
from support.worlds import World


async def test_ranks_never_read_a_foreign_config_map_with_the_jobs_name(world: World) -> None:
    """19: a leftover of that name was taken, with its endpoints; hence "make sure it is deleted first"."""
    api, namespace = world.api, world.namespace
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "demo", "namespace": namespace},
              "data": {"PADDLE_TRAINERS_NUM": "99"}}  # fmt: skip
    stored = await api.create(CONFIG_MAPS, theirs)
    async with running(api, Settings()):
        await api.create(JOBS, build_job(namespace=namespace))
        pods = await until(lambda: have_pods(api, 4, namespace=namespace))
        for number, pod in enumerate(sorted(pods), 2):
            await set_phase(api, pod, "Pending", address=f"10.98.0.{number}", namespace=namespace)
        ours = await until(lambda: find_config_map(api, namespace))
        assert await api.get(CONFIG_MAPS, namespace, "demo") == stored, "a user's own is in nobody's way"
    assert ours["data"]["PADDLE_TRAINERS_NUM"] == "2"
    assert ours["data"]["PADDLE_TRAINERS"] == "10.98.0.4,10.98.0.5"


async def _waits(world: World, reason: str) -> Manifest | None:
    status = await status_of(world.api, namespace=world.namespace)
    return status if (status.get("cause") or {}).get("reason") == reason else None


async def test_a_failed_pod_of_the_job_before_does_not_fail_the_new_job(world: World) -> None:
    """20: owners were compared by name. The owner of this pod is a deleted `demo`."""
    api, namespace = world.api, world.namespace
    owner = {"apiVersion": JOBS.api_version, "kind": "PaddleJob", "name": "demo", "controller": True,
             "uid": "00000000-0000-0000-0000-000000000000"}  # fmt: skip
    metadata = {"name": "demo-worker-0", "namespace": namespace, "ownerReferences": [owner],
                "annotations": {"paddle-resource": "worker"}, "finalizers": ["example.org/held"]}  # fmt: skip
    spec = {"containers": [{"name": "paddle", "image": "x"}]}
    old = await until(lambda: _made(world, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
    await set_phase(api, "demo-worker-0", "Failed", code=1, namespace=namespace)
    async with running(api, Settings()):
        await api.create(JOBS, build_job(namespace=namespace))
        status = await until(lambda: _waits(world, "ObjectInTheWay"))
        assert (status["phase"], status["worker"].get("failed", 0)) == ("Pending", 0)
        await api.patch(PODS, namespace, "demo-worker-0", {"metadata": {"finalizers": None}})
        await _remove(world, "demo-worker-0", uid_of(old))
        pods = await until(lambda: have_pods(api, 4, namespace=namespace))
    assert uid_of(pods["demo-worker-0"]) != uid_of(old)
    assert (await status_of(api, namespace=namespace))["attempt"] == 0


async def _made(world: World, pod: Manifest) -> Manifest | None:
    """A new namespace has no service account for pods at first."""
    try:
        return await world.api.create(PODS, pod)
    except (Forbidden, InternalError):
        return None


async def _remove(world: World, name: str, uid: str) -> None:
    """The pod may be collected already, and a pod of the job may have its name by now."""
    try:
        await world.api.delete(PODS, world.namespace, name, uid=uid, grace=0)
    except (NotFound, Conflict):
        pass


@pytest.mark.parametrize("name", ["a.b", "1st", "x" * 60])
async def test_a_job_whose_name_is_no_valid_host_name_trains(world: World, name: str) -> None:
    """23: pods, or their Services, were refused without an event, and tried again for ever."""
    api, namespace = world.api, world.namespace
    async with running(api, Settings()):
        await api.create(JOBS, build_job(name, namespace=namespace, intranet="Service"))
        pods = await until(lambda: have_pods(api, 4, name, namespace))
        for number, pod in enumerate(sorted(pods), 2):
            await set_phase(api, pod, "Running", address=f"10.98.0.{number}", namespace=namespace)
        config_map = await until(lambda: find_config_map(api, namespace, job=name))
        services = {name_of(each) for each in (await api.list(SERVICES, namespace)).items}
    hosts = {each.rpartition(":")[0] for each in config_map["data"]["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")}
    assert hosts == {pods[f"{name}-{rank}"]["spec"]["hostname"] for rank in ("ps-0", "ps-1")}
    assert hosts <= services
