"""Jobs of a stopped paddle-operator are adopted in their present state."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.model import Settings
from paddock.kube.errors import NotFound
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES, Manifest, name_of, uid_of
from support import go_operator as left
from support.operator_seam import JOBS, Seam, pods_of, running, settled, status_of
from support.waiting import until
from support.worlds import World

pytestmark = pytest.mark.slow

WAIT = 180.0
TWO = {"ps": 2, "worker": 2}


async def _phase(world: World, phase: str) -> Manifest:
    status = await status_of(world.api, namespace=world.namespace)
    return status if status.get("phase") == phase and "attempt" in status else {}


async def all_pods(world: World) -> dict[str, Manifest]:
    found = (await world.api.list(PODS, world.namespace)).items
    return {name_of(pod): pod for pod in found if not pod["metadata"].get("deletionTimestamp")}


def running_status() -> Manifest:
    counts: dict[str, Any] = {role: left.counted("demo", role, running=2) for role in TWO}
    return left.build_status("Running", **counts)


async def test_a_running_job_goes_on_untouched_to_its_end(world: World) -> None:
    job = await left.leave_job(world, status=running_status(), cleanPodPolicy="Never")
    await left.leave_gang(world, job)
    before = await all_pods(world)
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        status = await until(lambda: _phase(world, "Running"), WAIT)
        await settled(seam)
        writes = {request for request in seam.requests if request[0] in ("create", "patch", "delete")}
        assert {verb for verb, plural, _ in writes if plural != "events"} == {"patch"}
        assert {plural for _, plural, _ in writes if plural != "events"} == {"paddlejobs", "paddlejobs/status"}
        after = await all_pods(world)
        assert {name: uid_of(pod) for name, pod in after.items()} == {name: uid_of(pod) for name, pod in before.items()}
        assert _numbers(after) == dict.fromkeys(TWO, "PADDLE_TRAINER_ID"), "they keep the variables that they have"
        assert (status["startTime"], status["worker"]["ready"], status["attempt"]) == (left.STARTED, "2/2", 0)
        for index in range(2):
            await _succeed(world, f"demo-worker-{index}")
        done = await until(lambda: _phase(world, "Completed"), WAIT)
    stored = await world.api.get(JOBS, world.namespace, "demo")
    assert (done["ps"]["ready"], done["worker"]["ready"]) == ("2/2", "0/2")
    assert not stored["metadata"].get("finalizers")
    assert stored["spec"] == job["spec"], "nothing is written into what the user asked for"


async def _succeed(world: World, pod: str) -> None:
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-01T00:01:00Z"}}
    container = {"name": "paddle", "ready": False, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
    status = {"phase": "Succeeded", "containerStatuses": [container]}
    await world.api.patch(PODS, world.namespace, pod, {"status": status}, subresource="status")


@pytest.mark.parametrize("phase", ["Completed", "Failed"])
async def test_a_finished_job_stays_unchanged(world: World, phase: str) -> None:
    ended = left.build_status(phase, completionTime="2023-05-19T09:00:00Z")
    await left.leave_job(world, status=ended)
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        status = await until(lambda: _phase(world, phase), WAIT)
        await settled(seam)
    assert not await all_pods(world), "it never trains again"
    assert (status["startTime"], status["completionTime"]) == (left.STARTED, "2023-05-19T09:00:00Z")
    said = "Succeeded" if phase == "Completed" else "Failed"
    assert {each["type"] for each in status["conditions"] if each["status"] == "True"} == {said}
    stored = await world.api.get(JOBS, world.namespace, "demo")
    assert not stored["metadata"].get("finalizers")


@pytest.mark.parametrize("phase", ["Pending", "Starting", "", "Scaling", "Aborting", "Restarting", "Unknown"])
async def test_the_missing_objects_of_a_job_are_created(world: World, phase: str) -> None:
    """In any phase: phases that paddle-operator declares and never sets are ignored."""
    status = left.build_status(phase, ps=left.counted("demo", "ps", pending=2)) if phase else {}
    job = await left.leave_job(world, status=status)
    for index in range(2):
        await left.leave_pod(world, job, "ps", index, "Pending")
        await left.leave_service(world, job, "ps", index)
    before = {name: uid_of(pod) for name, pod in (await all_pods(world)).items()}
    async with running(world.api, Settings()):
        await until(lambda: _has_all(world), WAIT)
        for index in range(2):
            await _address(world, f"demo-worker-{index}", f"10.244.1.{index + 1}")
        told = (await until(lambda: _config_map(world), WAIT))["data"]
        assert (await status_of(world.api, namespace=world.namespace))["attempt"] == 0
    after = {name: uid_of(pod) for name, pod in (await all_pods(world)).items()}
    assert before.items() <= after.items()
    assert told["PADDLE_PSERVERS_IP_PORT_LIST"] == "10.244.0.1:36000,10.244.0.2:36000"
    assert told["PADDLE_TRAINERS_NUM"] == "2"


async def _has_all(world: World) -> bool:
    return len(await all_pods(world)) == 4 and len((await world.api.list(SERVICES, world.namespace)).items) == 4


async def _address(world: World, pod: str, address: str) -> None:
    await world.api.patch(PODS, world.namespace, pod, {"status": {"podIP": address}}, subresource="status")


async def _config_map(world: World) -> Manifest:
    try:
        return await world.api.get(CONFIG_MAPS, world.namespace, "demo")
    except NotFound:
        return {}


async def test_a_rank_of_an_adopted_gang_that_fails_takes_the_whole_gang_to_the_next_attempt(world: World) -> None:
    job = await left.leave_job(world, status=running_status())
    await left.leave_gang(world, job)
    async with running(world.api, Settings()):
        await until(lambda: _phase(world, "Running"), WAIT)
        await world.api.delete(PODS, world.namespace, "demo-worker-0", grace=0)
        made = await until(lambda: _again(world), WAIT)
    assert {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in made.values()} == {"1"}
    assert _numbers(made) == {"ps": "PADDLE_PSERVER_ID", "worker": "PADDLE_TRAINER_ID"}


def _numbers(pods: dict[str, Manifest]) -> dict[str, str]:
    """By role: the variable that has a rank's number."""
    found = {}
    for name, pod in pods.items():
        names = [each["name"] for each in pod["spec"]["containers"][0]["env"] if each["name"].endswith("R_ID")]
        found[name.split("-")[1]] = ",".join(names)
    return found


async def _again(world: World) -> dict[str, Manifest]:
    made = await pods_of(world.api, namespace=world.namespace)
    return made if len(made) == 4 == len(await all_pods(world)) else {}


@pytest.mark.parametrize("readable", [True, False])
async def test_a_job_that_hangs_in_its_deletion_loses_the_legacy_finalizer(world: World, readable: bool) -> None:
    """Also a job with an invalid manifest that paddle-operator accepted."""
    await left.leave_job(world, **({} if readable else {"intranet": "Nowhere"}))
    await world.api.delete(JOBS, world.namespace, "demo")
    assert (await world.api.get(JOBS, world.namespace, "demo"))["metadata"]["deletionTimestamp"]
    async with running(world.api, Settings()):
        await until(lambda: _is_gone(world), WAIT)


async def _is_gone(world: World) -> bool:
    return not (await world.api.list(JOBS, world.namespace)).items
