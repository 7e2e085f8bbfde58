"""An edit that is not valid does not end the supervision of a job: it goes on by the last valid spec, also with a new
operator. The problem is told beside the state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import NotFound
from paddock.kube.meta import EVENTS, Manifest
from paddock.operator.readings import Readings
from support.operator_seam import JOBS, build_job, have_pods, pods_of, running, set_phase, status_of
from support.waiting import until

WITHOUT_WORKERS: Manifest = {"spec": {"worker": None}}
"""The API server takes it; the job would never complete."""

UNKNOWN_SCOPE: Manifest = {"metadata": {"annotations": {"paddock.dev/restart-scope": "pod"}}}
"""No part of the spec, and its generation stays."""

Clock = list[float]


async def start(cluster: LocalApi) -> None:
    pods = await until(lambda: have_pods(cluster, 2))
    for number, pod in enumerate(sorted(pods)):
        await set_phase(cluster, pod, "Running", address=f"127.0.0.{number + 2}")
    await until(lambda: in_phase(cluster, "Running"))


async def in_phase(cluster: LocalApi, phase: str) -> Manifest | None:
    status = await status_of(cluster)
    return status if status.get("phase") == phase else None


async def completes(cluster: LocalApi, clock: Clock) -> None:
    await set_phase(cluster, "demo-worker-0", "Succeeded")
    await until(lambda: in_phase(cluster, "Completed"))
    await until(lambda: without_pods(cluster))


async def without_pods(cluster: LocalApi) -> bool:
    return not await pods_of(cluster)


async def fails_by_its_deadline(cluster: LocalApi, clock: Clock) -> None:
    clock[0] += 101
    await wake(cluster)
    status = await until(lambda: in_phase(cluster, "Failed"))
    assert status["cause"]["reason"] == "DeadlineExceeded"


async def goes_when_its_time_is_over(cluster: LocalApi, clock: Clock) -> None:
    await completes(cluster, clock)
    clock[0] += 51
    await wake(cluster)
    await until(lambda: is_gone(cluster))


async def is_gone(cluster: LocalApi) -> bool:
    try:
        await cluster.get(JOBS, "default", "demo")
    except NotFound:
        return True
    return False


async def starts_again_with_the_last_valid_template(cluster: LocalApi, clock: Clock) -> None:
    before = await pods_of(cluster)
    await set_phase(cluster, "demo-ps-0", "Failed", code=1)
    await set_phase(cluster, "demo-worker-0", "Failed", code=1)
    await until(lambda: in_phase(cluster, "Restarting"))
    await until(lambda: without_pods(cluster))
    clock[0] += 11
    await wake(cluster)
    after = await until(lambda: have_pods(cluster, 2))
    assert [images(pods) for pods in (before, after)] == [["paddle:test"] * 2] * 2


def images(pods: dict[str, Manifest]) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in pods.values()]


async def wake(cluster: LocalApi) -> None:
    await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"time": "went by"}}})


ENDS: list[Callable[[LocalApi, Clock], Awaitable[None]]] = [
    completes,
    fails_by_its_deadline,
    goes_when_its_time_is_over,
    starts_again_with_the_last_valid_template,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("away", [False, True], ids=["seen", "while the operator is away"])
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(WITHOUT_WORKERS, id="of its spec"),
        pytest.param(UNKNOWN_SCOPE, id="of its annotation", marks=pytest.mark.slow),
    ],
)
async def test_a_job_with_an_invalid_edit(
    end: Callable[[LocalApi, Clock], Awaitable[None]], edit: Manifest, away: bool, cluster: LocalApi
) -> None:
    clock = [1000.0]
    job = build_job(ps=1, worker=1, runPolicy={"activeDeadlineSeconds": 100, "ttlSecondsAfterFinished": 50})
    for role in ("ps", "worker"):
        job["spec"][role]["template"]["spec"]["restartPolicy"] = "OnFailure"
    await cluster.create(JOBS, job)
    async with running(cluster, readings=Readings(lambda: clock[0])):
        await start(cluster)
        if not away:
            await cluster.patch(JOBS, "default", "demo", edit)
            await until(lambda: problem_of(cluster))
            await end(cluster, clock)
            return
    await cluster.patch(JOBS, "default", "demo", edit)
    async with running(cluster, readings=Readings(lambda: clock[0])):
        await end(cluster, clock)


async def problem_of(cluster: LocalApi) -> Any:
    return (await status_of(cluster)).get("problem")


async def test_the_problem_is_told_beside_the_state_once_and_goes_when_it_is_mended(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, build_job(ps=1, worker=1))
        await start(cluster)
        await cluster.patch(JOBS, "default", "demo", WITHOUT_WORKERS)
        problem = await until(lambda: problem_of(cluster))
        status = await status_of(cluster)
        assert (status["phase"], status.get("cause"), status["observedGeneration"]) == ("Running", None, 2)
        assert (problem["reason"], problem["args"]["problems"][0].split(":")[0]) == ("InvalidJob", "spec.worker")
        worker = build_job(worker=1)["spec"]["worker"]
        await cluster.patch(JOBS, "default", "demo", {"spec": {"worker": worker}})
        await until(lambda: mended(cluster))
        assert (await status_of(cluster))["phase"] == "Running"
    events = [event for event in (await cluster.list(EVENTS)).items if event["reason"] == "InvalidJob"]
    assert [event["count"] for event in events] == [1]


async def test_an_annotation_that_is_edited_wrongly_is_told_by_an_event_each_time(cluster: LocalApi) -> None:
    """It changes no generation."""
    async with running(cluster):
        await cluster.create(JOBS, build_job(ps=1, worker=1))
        await start(cluster)
        for _ in range(2):
            await cluster.patch(JOBS, "default", "demo", UNKNOWN_SCOPE)
            await until(lambda: problem_of(cluster))
            none = {"metadata": {"annotations": dict.fromkeys(UNKNOWN_SCOPE["metadata"]["annotations"])}}
            await cluster.patch(JOBS, "default", "demo", none)
            await until(lambda: mended(cluster))
    events = [event for event in (await cluster.list(EVENTS)).items if event["reason"] == "InvalidJob"]
    assert [event["count"] for event in events] == [2]


async def mended(cluster: LocalApi) -> bool:
    return not await problem_of(cluster)


async def test_ten_edits_a_second_half_of_them_invalid_change_nothing_of_a_whole_life(cluster: LocalApi) -> None:
    job = build_job(ps=1, worker=1)
    worker = job["spec"]["worker"]

    async def edit() -> None:
        for number in range(1000):
            wrong = number % 2 == 0
            await cluster.patch(JOBS, "default", "demo", {"spec": {"worker": None if wrong else worker}})
            await asyncio.sleep(0.1)

    async with running(cluster):
        await cluster.create(JOBS, job)
        await until(lambda: have_pods(cluster, 2))
        editing = asyncio.create_task(edit())
        try:
            await start(cluster)
            await until(lambda: problem_of(cluster))
            await completes(cluster, [])
        finally:
            editing.cancel()
            await asyncio.gather(editing, return_exceptions=True)
    status = await status_of(cluster)
    assert (status["attempt"], status["restarts"], status["cause"]["reason"]) == (0, 0, "Completed")
