"""What an operator does on the job that it has cached, and for what it asks for the live one (decision 33)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.model import Settings
from paddock.kube.api import Event
from paddock.kube.errors import Conflict
from paddock.kube.meta import PODS, Manifest, Resource
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    have_pods,
    pods_of,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until

READ, RECORD = ("get", "paddlejobs"), ("patch", "paddlejobs/status")
A_SECOND = 1.1
"""Times of objects are whole seconds: what is made in the second in which an operator began proves nothing."""


async def record_one(api: LocalApi) -> None:
    """An operator that has just begun records a job of a kind before it makes pods."""
    await api.create(JOBS, build_job("first", ps=0, worker=1))
    await until(lambda: have_pods(api, 1, "first"))
    await until(lambda: _recorded(api, "first"))
    await asyncio.sleep(A_SECOND)


async def _recorded(api: LocalApi, name: str) -> Manifest:
    return await status_of(api, name)


async def _phase(api: LocalApi, phase: str, name: str = "demo") -> Manifest | None:
    status = await status_of(api, name)
    return status if status.get("phase") == phase else None


def kinds(requests: list[Request]) -> Counter[tuple[str, str]]:
    return Counter(request[:2] for request in requests if request[1] != "events")


async def test_a_job_of_four_pods_needs_eight_creations_and_nothing_else_until_they_exist(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await record_one(cluster)
        seam.requests.clear()
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        await until(lambda: _phase(cluster, "Pending"))
    *asked, last = [request[:2] for request in seam.requests if request[1] != "events"]
    assert Counter(asked) == {("create", "pods"): 4, ("create", "services"): 4}
    assert last == RECORD


async def test_the_counts_of_a_gang_that_starts_are_recorded_together(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam, settings=Settings()):
        await record_one(cluster)
        await cluster.create(JOBS, build_job(intranet="Service"))
        pods = await until(lambda: have_pods(cluster, 4))
        await until(lambda: _phase(cluster, "Pending"))
        await settled(seam)
        seam.requests.clear()
        addresses = {pod: f"127.0.0.{number}" for number, pod in enumerate(pods, 2)}
        await asyncio.gather(*(set_phase(cluster, pod, "Running", address=at) for pod, at in addresses.items()))
        status = await until(lambda: _phase(cluster, "Running"))
        await settled(seam)
    assert status["worker"]["running"] == 2
    assert kinds(seam.requests)[RECORD] <= 2
    assert READ not in kinds(seam.requests)


async def test_the_first_job_of_a_kind_is_recorded_before_its_pods(cluster: LocalApi) -> None:
    """The definition that is installed may be somebody else's, and drop what is recorded."""
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
    asked = [request[:2] for request in seam.requests]
    assert asked.index(RECORD) < asked.index(("create", "pods"))


async def test_a_watch_that_has_told_nothing_for_seconds_is_no_reason_for_pods(cluster: LocalApi) -> None:
    """The suspension comes late to this operator; the pods would come as late."""
    seam, heard = Seam(cluster), asyncio.Event()

    async def lag(resource: Resource, event: Event) -> None:
        if resource == JOBS and event.object.get("spec", {}).get("runPolicy", {}).get("suspend"):
            await heard.wait()

    async def refuse(request: Request) -> None:
        if request[:2] == ("create", "pods") and request[2] != "first-worker-0":
            raise Conflict("not yet")

    seam.lag = lag
    async with running(seam):
        await record_one(cluster)
        seam.before = refuse
        await cluster.create(JOBS, build_job())
        await until(lambda: _asked(seam, ("create", "pods", "demo-ps-0")))
        await cluster.patch(JOBS, "default", "demo", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(4.0)
        seam.before = None
        await until(lambda: _phase(cluster, "Suspended"))
        assert await pods_of(cluster) == {}


async def _asked(seam: Seam, request: Request) -> bool:
    return request in seam.requests


async def test_a_deleted_pod_costs_a_live_read_of_the_pod_and_none_of_its_job(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await record_one(cluster)
        await cluster.create(JOBS, build_job(ps=0, worker=4))
        pods = await until(lambda: have_pods(cluster, 4))
        for number, pod in enumerate(pods):
            await set_phase(cluster, pod, "Running", address=f"127.0.0.{number + 2}")
        await until(lambda: _phase(cluster, "Running"))
        await settled(seam)
        await asyncio.sleep(A_SECOND)
        seam.requests.clear()
        await cluster.delete(PODS, "default", "demo-worker-1", grace=0)
        await until(lambda: _whole_again(cluster, pods))
        asked = kinds(seam.requests)
    assert (asked[READ], asked["get", "pods"]) == (0, 1)
    assert (asked["delete", "pods"], asked["create", "pods"]) == (3, 4)


async def _whole_again(api: LocalApi, before: dict[str, Manifest]) -> bool:
    now = await pods_of(api)
    return len(now) == len(before) and all(
        now[name]["metadata"]["uid"] != before[name]["metadata"]["uid"] for name in now
    )


async def test_pods_without_a_record_of_a_job_that_was_edited_since_are_made_anew(cluster: LocalApi) -> None:
    """An operator has crashed between the first pods and the first record: each has been told of four peers."""
    seam = Seam(cluster)

    async def no_records(request: Request) -> None:
        if request == (*RECORD, "demo"):
            await asyncio.Event().wait()

    async with running(seam):
        await record_one(cluster)
        seam.before = no_records
        await cluster.create(JOBS, build_job(ps=0, worker=4))
        first = await until(lambda: have_pods(cluster, 4))
    assert await status_of(cluster) == {}
    await cluster.patch(JOBS, "default", "demo", {"spec": {"worker": {"replicas": 6}}})
    async with running(cluster):
        second = await until(lambda: have_pods(cluster, 6))
        status: Any = await status_of(cluster)
    assert status["attempt"] == 1
    assert not {pod["metadata"]["uid"] for pod in first.values()} & {pod["metadata"]["uid"] for pod in second.values()}


async def test_pods_without_a_record_are_taken_over_as_they_are(cluster: LocalApi) -> None:
    seam = Seam(cluster)

    async def no_records(request: Request) -> None:
        if request == (*RECORD, "demo"):
            await asyncio.Event().wait()

    async with running(seam):
        await record_one(cluster)
        seam.before = no_records
        await cluster.create(JOBS, build_job())
        first = await until(lambda: have_pods(cluster, 4))
    async with running(cluster):
        status = await until(lambda: _phase(cluster, "Pending"))
        second = await pods_of(cluster)
    assert status["attempt"] == 0
    assert {pod["metadata"]["uid"] for pod in first.values()} == {pod["metadata"]["uid"] for pod in second.values()}
