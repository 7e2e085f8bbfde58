"""The page of the hours that jobs have held."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.meta import PODS, Manifest
from paddock.kube.times import format_time
from support.places import serve_place

JOBS = PADDLEPADDLE.resource
HOUR = 3600
DAY = 24 * HOUR


def build_job(name: str, namespace: str = "default", person: str = "", **status: Any) -> Manifest:
    resources = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"cpu": "2"}}
    template = {"spec": {"containers": [{"name": "main", "image": "x", "resources": resources}]}}
    annotations = {"paddock.dev/created-by": person} if person else {}
    return {
        "apiVersion": JOBS.api_version, "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": namespace, "uid": name, "annotations": annotations},
        "spec": {"worker": {"replicas": 2, "template": template}}, "status": status,
    }  # fmt: skip


def build_ended(name: str, hours: float, *, ago: float = HOUR, **others: Any) -> Manifest:
    ended = time.time() - ago
    begun = ended - hours * HOUR
    return build_job(name, phase="Completed", startTime=format_time(begun), completionTime=format_time(ended), **others)


def build_pod(job: str, hours: float) -> Manifest:
    owner = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": job, "uid": job, "controller": True}
    spec = build_job(job)["spec"]["worker"]["template"]["spec"]
    return {
        "metadata": {"name": f"{job}-worker-0", "namespace": "default", "uid": f"{job}-0", "ownerReferences": [owner]},
        "spec": {**spec, "nodeName": "n"},
        "status": {"phase": "Running", "startTime": format_time(time.time() - hours * HOUR)},
    }  # fmt: skip


def read_rows(page: str) -> list[list[str]]:
    """The cells of the table."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    lines = [each for each in body.split("<tr>") if each.strip()]
    return [[part.split("<")[0] for part in line.split(">") if part.split("<")[0].strip()] for line in lines]


async def test_what_jobs_that_are_there_have_held_is_added_up_by_namespace_by_job_and_by_person(tmp_path: Path) -> None:
    jobs = [
        build_ended("one", 10, person="ann"),
        build_ended("two", 1, namespace="vision"),
        build_job("runs", person="ann", phase="Running"),
    ]
    async with serve_place({JOBS: jobs, PODS: [build_pod("runs", 3)]}, tmp_path, local=False) as place:
        page = await place.read("/usage")
        named = await place.read("/usage?by=name")
        persons = await place.read("/usage?by=person")
        recent = await place.read("/usage?since=24h&by=name")
    assert read_rows(page) == [
        ["default", "PaddleJob", "2", "92.0", "46.0", "23.0"],
        ["vision", "PaddleJob", "1", "8.0", "4.0", "2.0"],
    ]
    assert [row[2:4] for row in read_rows(named)] == [["one", "80.0"], ["runs", "12.0"], ["two", "8.0"]]
    assert [row[0] for row in read_rows(persons)] == ["ann", "-"]
    assert "of 3 jobs that are still there" in page and "100.0 GPU-hours" in page
    assert 'href="/usage?since=7d&amp;by=person"' in persons and len(read_rows(recent)) == 3


async def test_a_job_that_ended_before_the_period_is_no_row(tmp_path: Path) -> None:
    async with serve_place({JOBS: [build_ended("old", 1, ago=40 * DAY)]}, tmp_path, local=False) as place:
        page, longer = await place.read("/usage"), await place.read("/usage?since=90d")
    assert "No job has held anything in this time." in page and read_rows(longer)


@pytest.mark.parametrize("address", ["/usage?since=1y&by=colour", "/usage?since=&by="])
async def test_what_an_address_asks_for_that_there_is_not_is_the_usual_page(tmp_path: Path, address: str) -> None:
    async with serve_place({JOBS: [build_ended("one", 10)]}, tmp_path, local=False) as place:
        page = await place.read(address)
    assert "paddock usage --since 30d -A" in page and read_rows(page)


async def test_who_may_not_list_pods_is_told_that_jobs_that_run_are_not_counted(tmp_path: Path) -> None:
    objects = {JOBS: [build_ended("one", 10, namespace="team"), build_job("runs", "team", phase="Running")]}
    async with serve_place(objects, tmp_path, local=False, allowed={(JOBS, "team")}) as place:
        everywhere, team = await place.read("/usage"), await place.read("/usage?namespace=team")
    assert "You may not look into all namespaces" in everywhere
    assert "you may not list pods here" in team and read_rows(team) == [
        ["team", "PaddleJob", "1", "80.0", "40.0", "20.0"]
    ]
    assert "paddock usage --since 30d -n team" in team and 'href="/usage?since=7d&amp;namespace=team"' in team
