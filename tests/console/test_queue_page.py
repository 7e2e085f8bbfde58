"""The page of the queue, on objects in memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from console.test_nodes import build_node, build_pod
from paddock.console.addresses import address_of_job
from paddock.kube.kueue import WORKLOADS
from paddock.kube.meta import NODES, POD_GROUPS, PODS, Manifest, Resource, name_of
from paddock.node.scheduler.queue import Queue
from paddock.views.queue_rows import build_queue_rows, read_unfinished
from support.places import serve_place
from views.test_workloads import build_workload


def build_job(name: str, **status: Any) -> Manifest:
    job = build_manifest()
    job["metadata"] |= {"name": name, "uid": name}
    job["status"] = {"phase": "Pending", **status}
    return job


async def test_jobs_wait_in_the_order_of_the_scheduler_and_say_why(tmp_path: Path) -> None:
    cause = {"reason": "WaitingForScheduler", "args": {"pods": 1, "wanted": 1, "message": "1 Insufficient cpu"}}
    jobs = [build_job("later", cause=cause), build_job("first"), build_job("runs", phase="Running")]
    waits = [build_pod(f"{name}-0", "", name, "Pending", cpu="8") for name in ("later", "first")]
    pods = [*waits, build_pod("runs-0", "one", "runs", cpu="6")]
    pods[0]["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    pods[1]["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    async with serve_place({RESOURCE: jobs, PODS: pods, NODES: [build_node("one")]}, tmp_path) as place:
        page = await place.read("/queue")
    waiting, running = page.split("<h2>On nodes")
    assert waiting.index(">first</a>") < waiting.index(">later</a>") and ">runs</a>" in running
    assert "8 CPUs: 2 free" in waiting and "Insufficient cpu" in waiting


async def test_what_cannot_start_here_is_a_group_without_positions(tmp_path: Path) -> None:
    message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4, 0 of 0 free)."
    cause = {"reason": "WaitingForScheduler", "args": {"pods": 1, "wanted": 1, "message": message}}
    pods = [build_pod("large-0", "", "large", "Pending", cpu="8")]
    async with serve_place({RESOURCE: [build_job("large", cause=cause)], PODS: pods}, tmp_path) as place:
        page = await place.read("/queue")
    waiting, never = page.split("<h2>Cannot start here")
    assert "Nothing waits." in waiting and "large" not in waiting
    assert ">large</a>" in never and "asks for 4 GPUs; this cluster has none" in never and "Position" not in never


async def test_suspended_jobs_do_not_wait_and_are_folded_with_their_number(tmp_path: Path) -> None:
    jobs = [build_job(f"held-{index}", phase="Suspended", attempt=0) for index in range(3)] + [build_job("waits")]
    queued = build_job(
        "queued", phase="Suspended", attempt=0, cause={"reason": "WaitingForQueue", "args": {"queue": "team"}}
    )
    async with serve_place({RESOURCE: [*jobs, queued], NODES: [build_node("one")]}, tmp_path) as place:
        page = await place.read("/queue")
    waiting, suspended = page.split('<details id="suspended">')
    assert "held-" not in waiting and ">waits</a>" in waiting and ">queued</a>" in waiting
    assert "3 suspended jobs" in suspended and suspended.count(">held-") == 3


async def test_of_many_suspended_jobs_twenty_are_shown_and_the_list_has_the_others(tmp_path: Path) -> None:
    jobs = [build_job(f"held-{index}", phase="Suspended", attempt=0) for index in range(23)]
    async with serve_place({RESOURCE: jobs, NODES: [build_node("one")]}, tmp_path) as place:
        page = await place.read("/queue")
    assert page.count(">held-") == 20 and '<a href="/?phase=Suspended">and 3 more</a>' in page


async def test_who_holds_the_room_is_a_link(tmp_path: Path) -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu (needs 1800m, 1 of 2 free). Held by team-vision/hog (1)."
    cause = {"reason": "WaitingForScheduler", "args": {"pods": 1, "wanted": 1, "message": message}}
    hog = build_job("hog", phase="Running")
    hog["metadata"]["namespace"] = "team-vision"
    held = build_pod("hog-0", "one", "hog", cpu="1")
    held["metadata"]["namespace"] = "team-vision"
    async with serve_place({RESOURCE: [build_job("waits", cause=cause), hog], PODS: [held]}, tmp_path) as place:
        page = await place.read("/queue")
    address = "/jobs/team-vision/paddlejobs.batch.paddlepaddle.org/hog"
    assert f'needs 1.8 CPUs; 1 is free; <a href="{address}">hog (team-vision)</a> holds 1<' in page


def build_tenants() -> dict[Resource, list[Manifest]]:
    """A job that waits in the namespace team, and one that holds the room in another."""
    message = "0/1 nodes are available: 1 Insufficient cpu."
    cause = {"reason": "WaitingForScheduler", "args": {"pods": 1, "wanted": 1, "message": message}}
    found = {RESOURCE: [build_job("mine", cause=cause), build_job("secret", phase="Running")], PODS: []}
    for job, node in zip(found[RESOURCE], ("", "one"), strict=True):
        pod = build_pod(f"{name_of(job)}-0", node, name_of(job), "Running" if node else "Pending", cpu="6")
        pod["metadata"]["namespace"] = job["metadata"]["namespace"] = "other" if node else "team"
        found[PODS].append(pod)
    return {**found, NODES: [build_node("one")]}


async def test_who_may_look_into_one_namespace_names_it_and_is_not_told_that_nothing_waits(tmp_path: Path) -> None:
    allowed = [(RESOURCE, "team"), (PODS, "team")]
    async with serve_place(build_tenants(), tmp_path, local=False, allowed=allowed) as place:
        everything = await place.read("/queue")
        own = await place.read("/queue?namespace=team")
        theirs = await place.read("/queue?namespace=other")
    assert "Name one:" in everything and "Nothing waits" not in everything
    assert ">mine</a>" in own and "secret" not in own
    assert "positions count what you may see" in own and "paddock queue -n team" in own
    assert "You may not look into the namespace other" in theirs and "Nothing waits" not in theirs


async def test_who_may_see_all_is_told_of_one_namespace_who_holds_the_room_in_another(tmp_path: Path) -> None:
    async with serve_place(build_tenants(), tmp_path, local=False) as place:
        page = await place.read("/queue?namespace=team")
    waiting = page[page.index("<h2>Waiting") :]
    assert ">mine</a>" in waiting and "8 CPUs: 2 free" in page and "secret (other)" in waiting
    assert "<h2>On nodes" not in waiting, "what runs is of the namespace too"


async def test_a_namespace_of_an_address_is_one_word_of_a_command(tmp_path: Path) -> None:
    async with serve_place({}, tmp_path) as place:
        page = await place.read("/queue?namespace=$(x)")
    assert "paddock queue -n &#39;$(x)&#39;" in page


async def test_on_a_phone_each_row_of_the_queue_is_a_block(tmp_path: Path) -> None:
    async with serve_place({RESOURCE: [build_job("waits")], NODES: [build_node("one")]}, tmp_path) as place:
        page = await place.read("/queue")
    assert '<table class="rows">' in page and '<td class="text">' in page


def test_what_a_thousand_jobs_of_300_ranks_need_is_known_at_once() -> None:
    job = build_job("wide")
    job["spec"]["worker"] = {"replicas": 300, "template": build_template({"cpu": "500m", "nvidia.com/gpu": "2"})}
    jobs = [read_unfinished(RESOURCE, job)] * 1_000
    begun = time.process_time()
    rows = build_queue_rows(jobs, [], Queue())
    assert len(rows) == 1_000 and (rows[0].needs["cpu"], rows[0].needs["nvidia.com/gpu"]) == (150, 600)
    assert time.process_time() - begun < 3.0, "it took 32 s when each rank's template was read"


def build_template(requests: Manifest) -> Manifest:
    return {"spec": {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}}


async def test_without_a_job_nothing_waits(tmp_path: Path) -> None:
    async with serve_place({NODES: [build_node("one")]}, tmp_path) as place:
        page = await place.read("/queue")
    assert "Nothing waits." in page and "<table" not in page


@pytest.mark.parametrize(("version", "shown"), [(*WORKLOADS[:1], True), (*WORKLOADS[1:], True), (None, False)])
async def test_groups_and_workloads_are_shown_where_they_are_in_the_version_that_is_served(
    tmp_path: Path, version: Resource | None, shown: bool
) -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "demo", "namespace": "default"},
        "spec": {"minMember": 3, "minResources": {"cpu": "3"}}, "status": {"phase": "Pending"},
    }  # fmt: skip
    workload = {
        "metadata": {"name": "job-demo-1", "namespace": "default", "ownerReferences": [{"name": "demo"}]},
        "spec": {"queueName": "team", "priority": 7},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "message": "insufficient <quota>"}]},
    }
    served: dict[Resource, list[Manifest]] = {POD_GROUPS: [group], **({version: [workload]} if version else {})}
    unserved = frozenset(WORKLOADS) - {version}
    async with serve_place(served, tmp_path, unserved=unserved) as place:
        page = await place.read("/queue")
    assert "3 CPUs" in page and ("insufficient &lt;quota&gt;" in page and ">team<" in page) is shown


@pytest.mark.parametrize("address", ["/", "/queue", address_of_job(RESOURCE, "default", "queued")])
async def test_each_page_says_first_why_kueue_does_not_admit_a_job(tmp_path: Path, address: str) -> None:
    cause = {"reason": "WaitingForQueue", "args": {"queue": "team-zz"}}
    job = build_job("queued", phase="Suspended", attempt=0, cause=cause)
    said = {"QuotaReserved": ("False", "Misconfigured", "LocalQueue team-zz doesn't exist")}
    workload = build_workload("job-queued", "queued", "team-zz", **said)
    objects = {RESOURCE: [job], WORKLOADS[1]: [workload]}
    async with serve_place(objects, tmp_path, local=False, unserved=frozenset(WORKLOADS[:1])) as place:
        page = await place.read(address)
    assert "Kueue cannot admit it to queue team-zz: LocalQueue team-zz doesn&#39;t exist" in page
