"""What the pages of a cluster's console say of a job that waits for room, on objects in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cli.views import RESOURCE
from console.test_nodes import build_node, build_pod
from console.test_queue_page import build_job
from paddock.console.addresses import address_of_job
from paddock.console.rooms import add_room
from paddock.jobs.model import CauseRecord
from paddock.kube.meta import NODES, PODS, Manifest, Resource
from support.places import serve_place

MESSAGE = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
CAUSE = {"reason": "WaitingForScheduler", "args": {"pods": 1, "wanted": 1, "message": MESSAGE}}
GPU = {"nvidia.com/gpu": "2"}
WAITS = build_pod("waits-0", "", "waits", "Pending", **GPU)
JOB = address_of_job(RESOURCE, "default", "waits")
OBJECTS: Mapping[Resource, Sequence[Manifest]] = {
    RESOURCE: [build_job("waits", cause=CAUSE)],
    PODS: [WAITS, build_pod("big-0", "one", "big", **{"nvidia.com/gpu": "1"})],
    NODES: [build_node("one", nvidia_com__gpu="1"), build_node("two", nvidia_com__gpu="1")],
}
OBJECTS[NODES][0]["status"]["allocatable"] |= {"nvidia.com/gpu": "2"}
OBJECTS[NODES][1]["status"]["allocatable"] |= {"nvidia.com/gpu": "1"}
SAID = "needs 2 GPUs on one node; 2 are free, at most 1 on one node; big holds 1"


@pytest.mark.parametrize("address", ["/", JOB, f"{JOB}/pods", f"{JOB}/manifest", "/queue"])
async def test_a_page_says_what_is_free_and_who_holds_it(address: str, tmp_path: Path) -> None:
    async with serve_place(OBJECTS, tmp_path, local=False) as place:
        page = await place.read(address)
    assert SAID in re.sub("<[^>]+>", "", page)
    assert ("the scheduler says: 0/2 nodes" in page) is (JOB in address)


async def test_a_reader_of_many_pages_lists_nodes_and_pods_once(tmp_path: Path) -> None:
    async with serve_place(OBJECTS, tmp_path, local=False) as place:
        for _ in range(3):
            assert SAID in await place.read("/")
        assert place.api.listed == 2


@pytest.mark.parametrize("address", ["/", JOB])
async def test_on_a_laptop_nothing_is_listed(address: str, tmp_path: Path) -> None:
    async with serve_place(OBJECTS, tmp_path) as place:
        page = await place.read(address)
        assert "no node has enough GPUs free" in page and place.api.listed == 0


async def test_where_not_all_can_have_numbers_the_oldest_jobs_have_them() -> None:
    jobs = [build_job(f"j{age}") for age in range(3)]
    for age, job in enumerate(jobs):
        job["metadata"] |= {"uid": f"j{age}", "creationTimestamp": f"2026-01-0{9 - age}T00:00:00Z"}
    waiting = [(CauseRecord("WaitingForScheduler", {}), RESOURCE, job) for job in jobs]
    asked = list[str]()

    class Asked:
        stock = True

        def add(self, cause: CauseRecord, resource: Resource, job: Manifest) -> CauseRecord:
            asked.append(job["metadata"]["uid"])
            return CauseRecord(job["metadata"]["uid"], {})

    found = await add_room(Asked(), waiting)  # type: ignore[arg-type]
    assert asked == ["j2", "j1", "j0"]
    assert [each.reason for each in found if each] == ["j0", "j1", "j2"], "in the order of the page"


async def test_a_rank_says_only_what_the_job_does_not_and_a_holder_is_a_link(tmp_path: Path) -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu (needs 1800m, 1 of 2 free). Held by team-vision/hog (1)."
    cause = {"reason": "WaitingForScheduler", "args": {"pods": 1, "wanted": 1, "message": message}}
    pod = build_pod("waits-0", "", "waits", "Pending", cpu="1800m")
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": message}]
    job = build_job("waits", cause=cause)
    async with serve_place({RESOURCE: [job], PODS: [pod], NODES: [build_node("one")]}, tmp_path) as place:
        page = await place.read(JOB)
    link = '<a href="/?namespace=team-vision&amp;q=hog">hog (team-vision)</a>'
    assert page.count("needs 1.8 CPUs; 1 is free; ") == 1 and link in page
