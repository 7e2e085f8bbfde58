"""Jobs of a stopped training-operator are taken over in their present state, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.model import Settings
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, SERVICES, Manifest, name_of, uid_of
from support import training_operator as left
from support.kubeflow_jobs import CONTAINERS, ENDED, STARTED, build_job, kind_of, say
from support.operator_seam import Seam, running, settled
from support.waiting import until
from support.worlds import World

WAIT = 180.0
GANGS: dict[str, dict[str, Any]] = {"PyTorchJob": {"Master": 1, "Worker": 2}, "PaddleJob": {"Worker": 2}}


async def read_status(world: World, kind: str) -> Manifest:
    job = await world.api.get(kind_of(kind), world.namespace, "demo")
    return dict(job.get("status") or {})


async def see_phase(world: World, kind: str, phase: str) -> Manifest:
    """The status, once it is ours and in that phase."""
    status = await read_status(world, kind)
    return status if status.get("phase") == phase and "attempt" in status else {}


async def list_pods(world: World) -> dict[str, str]:
    """UID by name."""
    found = (await world.api.list(PODS, world.namespace)).items
    return {name_of(pod): uid_of(pod) for pod in found if not pod["metadata"].get("deletionTimestamp")}


def read_states(status: Manifest) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in status["conditions"]]


def running_status(job: Manifest) -> Manifest:
    return left.build_status(job, left.condition(job, "Created"), left.condition(job, "Running"), **GANGS[job["kind"]])


async def leave_running(world: World, kind: str, **policy: Any) -> Manifest:
    job = build_job(kind, world, policy=policy or None, **GANGS[kind])
    stored = await left.leave_job(world, job, running_status(job))
    await left.leave_gang(world, stored)
    return stored


@pytest.mark.parametrize("kind", list(GANGS))
async def test_a_running_job_goes_on_untouched_to_its_end(world: World, kind: str) -> None:
    job = await leave_running(world, kind)
    before, container = await list_pods(world), CONTAINERS[kind]
    services = {uid_of(each) for each in (await world.api.list(SERVICES, world.namespace)).items}
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        status = await until(lambda: see_phase(world, kind, "Running"), WAIT)
        await settled(seam)
        written = {(verb, what) for verb, what, _ in seam.requests if verb in ("create", "patch", "delete")}
        assert written - {("create", "events"), ("patch", "events")} == {("patch", f"{kind.lower()}s/status")}
        assert await list_pods(world) == before
        assert (status["startTime"], status["attempt"]) == (STARTED, 0)
        assert read_states(status) == [("Created", "True"), ("Running", "True")]
        for pod in before:
            await say(world, pod, "Succeeded", container=container)
        done = await until(lambda: see_phase(world, kind, "Completed"), WAIT)
    assert read_states(done) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    stored = await world.api.get(kind_of(kind), world.namespace, "demo")
    assert stored["spec"] == job["spec"], "nothing is written into what the user asked for"
    assert {uid_of(each) for each in (await world.api.list(SERVICES, world.namespace)).items} <= services


async def test_a_rank_that_its_kubelet_restarts_in_place_is_no_failure(world: World) -> None:
    """With restartPolicy OnFailure training-operator leaves a failed program to the kubelet."""
    await leave_running(world, "PyTorchJob", backoffLimit=1)
    before = await list_pods(world)
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ENDED}}
    await say(world, "demo-worker-1", "Running", restarts=3, state=ended)
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        await until(lambda: see_phase(world, "PyTorchJob", "Starting"), WAIT)
        await say(world, "demo-worker-1", "Running", restarts=4)
        status = await until(lambda: see_phase(world, "PyTorchJob", "Running"), WAIT)
        await settled(seam)
    assert await list_pods(world) == before
    assert (status["attempt"], status["restarts"]) == (0, 0)


@pytest.mark.slow
async def test_a_lost_rank_of_an_adopted_gang_takes_the_whole_gang_to_the_next_attempt(world: World) -> None:
    await leave_running(world, "PyTorchJob")
    before = await list_pods(world)

    async def again() -> dict[str, str]:
        now = await list_pods(world)
        return now if len(now) == 3 and not set(now.values()) & set(before.values()) else {}

    async with running(world.api, Settings()):
        await until(lambda: see_phase(world, "PyTorchJob", "Running"), WAIT)
        await world.api.delete(PODS, world.namespace, "demo-worker-0", grace=0)
        assert set(await until(again, WAIT)) == set(before)
        assert (await read_status(world, "PyTorchJob"))["attempt"] == 1


@pytest.mark.parametrize("kind", list(GANGS))
@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
async def test_a_finished_job_stays_finished(world: World, kind: str, end: str) -> None:
    job = build_job(kind, world, **GANGS[kind])
    said = [left.condition(job, "Created"), left.condition(job, "Running", status="False")]
    ended = left.condition(job, end, at=ENDED)
    await left.leave_job(world, job, left.build_status(job, *said, ended, completionTime=ENDED))
    phase = "Completed" if end == "Succeeded" else "Failed"
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        status = await until(lambda: see_phase(world, kind, phase), WAIT)
        await settled(seam)
    assert not await list_pods(world), "it never trains again"
    assert (status["startTime"], status["completionTime"]) == (STARTED, ENDED)
    assert status["conditions"][-1] == ended, "the end as it was told"


async def test_workers_that_ran_on_after_the_end_give_their_gpus_back(world: World) -> None:
    """training-operator's default cleanPodPolicy is None."""
    job = build_job("PyTorchJob", world, **GANGS["PyTorchJob"])
    ends = (left.condition(job, "Created"), left.condition(job, "Succeeded", at=ENDED))
    stored = await left.leave_job(world, job, left.build_status(job, *ends, completionTime=ENDED))
    await left.leave_gang(world, stored)
    await say(world, "demo-master-0", "Succeeded")

    async def one_is_left() -> bool:
        return set(await list_pods(world)) == {"demo-master-0"}

    async with running(world.api, Settings()):
        assert await until(one_is_left, WAIT), "the one that has ended stays, with its log"


async def test_a_failed_job_without_a_completion_time_is_deleted_after_its_time_to_live(world: World) -> None:
    """training-operator writes none after an exit code below 128, and then never deletes the job."""
    job = build_job("PyTorchJob", world, policy={"ttlSecondsAfterFinished": 0}, Worker=1)
    await left.leave_job(world, job, left.build_status(job, left.condition(job, "Failed")))

    async def is_gone() -> bool:
        try:
            await world.api.get(kind_of("PyTorchJob"), world.namespace, "demo")
        except NotFound:
            return True
        return False

    async with running(world.api, Settings()):
        assert await until(is_gone, WAIT)


async def test_a_suspended_job_stays_suspended_until_it_is_resumed(world: World) -> None:
    job = build_job("PyTorchJob", world, policy={"suspend": True}, **GANGS["PyTorchJob"])
    created, run = left.condition(job, "Created"), left.condition(job, "Running", "Suspended", "False")
    status = left.build_status(job, created, run, left.condition(job, "Suspended"))
    await left.leave_job(world, job, status)
    seam = Seam(world.api, world.namespace)

    async def have_three() -> dict[str, str]:
        found = await list_pods(world)
        return found if len(found) == 3 else {}

    async with running(seam, Settings()):
        held = await until(lambda: see_phase(world, "PyTorchJob", "Suspended"), WAIT)
        await settled(seam)
        assert not await list_pods(world)
        assert read_states(held) == [("Created", "True"), ("Running", "False"), ("Suspended", "True")]
        resumed = {"spec": {"runPolicy": {"suspend": False}}}
        await world.api.patch(kind_of("PyTorchJob"), world.namespace, "demo", resumed)
        for pod in await until(have_three, WAIT):
            await say(world, pod, "Running")
        status = await until(lambda: see_phase(world, "PyTorchJob", "Running"), WAIT)
    assert dict(read_states(status)) == {"Created": "True", "Suspended": "False", "Running": "True"}
    assert status["conditions"][-1]["type"] == "Running", "kubectl prints the last one"


async def test_the_missing_pods_of_a_job_that_had_not_run_yet_are_made(world: World) -> None:
    job = build_job("PyTorchJob", world, **GANGS["PyTorchJob"])
    stored = await left.leave_job(world, job, left.build_status(job, left.condition(job, "Created")))
    await left.leave_pod(world, stored, "Master", 0)
    await left.leave_service(world, stored, "Master", 0)
    before = await list_pods(world)

    async def have_three() -> dict[str, str]:
        found = await list_pods(world)
        return found if len(found) == 3 else {}

    async with running(world.api, Settings()):
        assert before.items() <= (await until(have_three, WAIT)).items()
        assert (await read_status(world, "PyTorchJob"))["attempt"] == 0


async def test_the_way_back_finds_pods_and_services_by_its_labels_and_their_owner(world: World) -> None:
    """What training-operator looks for: pods by labels and controller, Services by labels, named as their pods."""
    job = build_job("PyTorchJob", world, **GANGS["PyTorchJob"])
    stored = await world.api.create(kind_of("PyTorchJob"), job)
    labels = "training.kubeflow.org/job-name=demo,training.kubeflow.org/operator-name=pytorchjob-controller"

    async def listed(resource: Any) -> list[Manifest]:
        found = (await world.api.list(resource, world.namespace, labels=labels)).items
        return found if len(found) == 3 else []

    async with running(world.api, Settings()):
        pods, services = await until(lambda: listed(PODS), WAIT), await until(lambda: listed(SERVICES), WAIT)
    assert {name_of(each) for each in services} == {name_of(each) for each in pods}
    for each in (*pods, *services):
        owner = each["metadata"]["ownerReferences"][0]
        assert (owner["uid"], owner["controller"], owner["kind"]) == (uid_of(stored), True, "PyTorchJob")
