"""A job may have every name that Kubernetes allows for a custom resource, and its ranks find each other."""

from __future__ import annotations

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Rank, Settings
from paddock.jobs.names import host_name
from paddock.kube.errors import NotFound
from paddock.kube.meta import CONFIG_MAPS, POD_GROUPS, PODS, SERVICES, Manifest, labels_of, name_of, uid_of
from support.operator_seam import (
    JOBS,
    build_job,
    find_config_map,
    have_pods,
    install_pod_groups,
    running,
    set_phase,
    status_of,
)
from support.waiting import until
from support.worlds import World

LONG = "2026.03.resnet50-" + "imagenet-2012-with-label-smoothing-0.1." * 2 + "run-17"
NAMES = (LONG, "1.5", "x" * 230)
WAIT = 180.0


def test_the_long_name_is_one_that_used_to_be_refused() -> None:
    assert len(LONG) == 101
    assert "." in LONG
    assert LONG[0].isdigit()


@pytest.mark.parametrize("name", NAMES)
async def test_ranks_of_a_job_with_any_name_go_by_names_that_resolve(world: World, name: str) -> None:
    """Pods carry the whole name; endpoints are names of Services, and each selects the pod of its rank."""
    api, namespace = world.api, world.namespace
    async with running(api, Settings()):
        await api.create(JOBS, build_job(name, namespace=namespace, intranet="Service"))
        pods = await until(lambda: have_pods(api, 4, name, namespace), WAIT)
        assert set(pods) == {f"{name}-{rank}" for rank in ("ps-0", "ps-1", "worker-0", "worker-1")}
        for number, pod in enumerate(sorted(pods)):
            await set_phase(api, pod, "Running", address=f"10.98.0.{number + 2}", namespace=namespace)
        config_map = await until(lambda: find_config_map(api, namespace, job=name), WAIT)
        services = {name_of(each): each for each in (await api.list(SERVICES, namespace)).items if _is_ours(each, pods)}
        selected = {host: await _selected(world, service) for host, service in services.items()}
        status = await until(lambda: _running(world, name), WAIT)
    servers = [each.rpartition(":")[0] for each in config_map["data"]["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")]
    workers = config_map["data"]["PADDLE_TRAINERS"].split(",")
    ranks = ("ps-0", "ps-1", "worker-0", "worker-1")
    assert selected == {host: [f"{name}-{rank}"] for host, rank in zip([*servers, *workers], ranks, strict=True)}, (
        "who follows an endpoint meets its rank and no other"
    )
    assert status["worker"]["ready"] == "2/2"


def _is_ours(service: Manifest, pods: dict[str, Manifest]) -> bool:
    owners = {each["metadata"]["ownerReferences"][0]["uid"] for each in pods.values()}
    return any(each["uid"] in owners for each in service["metadata"].get("ownerReferences") or ())


async def _config_map(world: World, name: str) -> Manifest | None:
    try:
        return await world.api.get(CONFIG_MAPS, world.namespace, name)
    except NotFound:
        return None


async def _selected(world: World, service: Manifest) -> list[str]:
    """The pods that the Service selects, as the endpoints controller finds them."""
    labels = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
    found = (await world.api.list(PODS, world.namespace, labels=labels)).items
    assert {pod["spec"]["hostname"] for pod in found} == {name_of(service)}
    return [name_of(pod) for pod in found]


async def _running(world: World, name: str) -> Manifest:
    status = await status_of(world.api, name, world.namespace)
    return status if status.get("phase") == "Running" else {}


async def test_a_rank_of_a_long_name_that_is_deleted_is_followed_by_a_new_gang(world: World) -> None:
    """The second attempt's ConfigMap has a longer name than the job, and must have a legal one."""
    api, namespace, name = world.api, world.namespace, "x" * 244
    async with running(api, Settings()):
        await api.create(JOBS, build_job(name, ps=0, worker=1, namespace=namespace))
        before = await until(lambda: have_pods(api, 1, name, namespace), WAIT)
        await set_phase(api, f"{name}-worker-0", "Running", namespace=namespace)
        await until(lambda: _running(world, name), WAIT)
        await api.delete(PODS, namespace, f"{name}-worker-0", grace=0)
        after = await until(lambda: _replaced(world, name, uid_of(before[f"{name}-worker-0"])), WAIT)
        await set_phase(api, f"{name}-worker-0", "Running", namespace=namespace)
        told = after["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]
        config_map = await until(lambda: _config_map(world, told), WAIT)
    assert config_map["data"]["PADDLE_TRAINERS_NUM"] == "1"
    assert labels_of(after)["paddock.dev/attempt"] == "1"


async def _replaced(world: World, name: str, uid: str) -> Manifest | None:
    pods = await have_pods(world.api, 1, name, world.namespace)
    return next((pod for pod in pods.values() if uid_of(pod) != uid), None)


async def test_a_foreign_service_with_the_shortened_name_makes_the_job_wait(world: World) -> None:
    api, manifest = world.api, build_job("1.5", namespace=world.namespace, ps=0)
    host = host_name(PADDLEPADDLE.read_job(manifest), Rank("worker", 1))
    theirs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": host, "namespace": world.namespace},
              "spec": {"ports": [{"port": 80}]}}  # fmt: skip
    await api.create(SERVICES, theirs)
    async with running(api, Settings()):
        await api.create(JOBS, manifest)
        cause = await until(lambda: _waits(world), WAIT)
    assert cause["args"]["objects"] == [f"Service {host}"]


async def _waits(world: World) -> Manifest | None:
    cause: Manifest = (await status_of(world.api, "1.5", world.namespace)).get("cause") or {}
    return cause if cause.get("reason") == "ObjectInTheWay" else None


async def test_a_gang_with_a_long_name_has_one_group_that_its_pods_name(world: World) -> None:
    api, namespace = world.api, world.namespace
    if not await _has_pod_groups(world):
        await install_pod_groups(api)
        await until(lambda: _has_pod_groups(world), WAIT)
    async with running(api, Settings(pod_groups=POD_GROUPS)):
        await api.create(JOBS, build_job(LONG, namespace=namespace))
        pods = await until(lambda: have_pods(api, 4, LONG, namespace), WAIT)
        groups = (await api.list(POD_GROUPS, namespace)).items
        named = {labels_of(pod)["scheduling.x-k8s.io/pod-group"] for pod in pods.values()}
        assert named == {name_of(group) for group in groups}
        await api.patch(JOBS, namespace, LONG, {"spec": {"worker": {"replicas": 1}}})
        await until(lambda: _asks_for(world, 3), WAIT)


async def _has_pod_groups(world: World) -> bool:
    try:
        await world.api.list(POD_GROUPS, world.namespace)
    except NotFound:
        return False
    return True


async def _asks_for(world: World, members: int) -> bool:
    groups = (await world.api.list(POD_GROUPS, world.namespace)).items
    return [group["spec"]["minMember"] for group in groups] == [members]
