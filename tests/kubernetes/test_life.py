"""The life of a job as `kubectl get` shows it, in both worlds."""

from __future__ import annotations

import pytest

from paddock.jobs.model import Settings
from paddock.kube.meta import SERVICES, Manifest, name_of
from support.operator_seam import JOBS, build_job, find_config_map, have_pods, pods_of, running, set_phase, status_of
from support.waiting import until
from support.worlds import World


@pytest.mark.sample  # a whole life on a real API server, in some seconds
async def test_a_job_trains_completes_and_is_cleaned_up(world: World) -> None:
    api, namespace = world.api, world.namespace
    async with running(api, Settings()):
        await api.create(JOBS, build_job(namespace=namespace))
        pods = await until(lambda: have_pods(api, 4, namespace=namespace))
        assert {name_of(each) for each in (await api.list(SERVICES, namespace)).items} == set(pods)
        for number, pod in enumerate(sorted(pods)):
            await set_phase(api, pod, "Running", address=f"10.98.0.{number + 2}", namespace=namespace)
        await until(lambda: _in_phase(world, "Running"))
        config_map = await until(lambda: find_config_map(api, namespace))
        assert config_map["data"]["PADDLE_PSERVERS_IP_PORT_LIST"] == "10.98.0.2:36000,10.98.0.3:36000"
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(api, worker, "Succeeded", namespace=namespace)
        await until(lambda: _in_phase(world, "Completed"))
        await until(lambda: _has_no_pods(world))
        status = await until(lambda: _counts_no_server(world))
    assert (status["ps"], status["worker"]) == ({"ready": "0/2"}, {"ready": "0/2", "succeeded": 2})
    assert status["attempt"] == 0


async def _counts_no_server(world: World) -> Manifest:
    status = await status_of(world.api, namespace=world.namespace)
    return status if status["ps"]["ready"] == "0/2" else {}


async def _in_phase(world: World, phase: str) -> bool:
    return bool((await status_of(world.api, namespace=world.namespace)).get("phase") == phase)


async def _has_no_pods(world: World) -> bool:
    return not await pods_of(world.api, namespace=world.namespace)
