"""The metrics of a running operator."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.client import Client
from paddock.client.kubeconfig import Config
from paddock.kube.errors import AlreadyExists, Conflict, NotFound, Unavailable
from paddock.kube.meta import PODS, SERVICES, Key, Resource
from paddock.operator.metrics import MeasuredApi, Prometheus
from support.operator_seam import JOBS, Request, Seam, build_job, have_pods, open_cluster, running, settled, until

KIND = "paddlejobs.batch.paddlepaddle.org"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        yield api


def read(measures: Prometheus, name: str, **labels: str) -> float:
    """One value of a scrape; 0 without a series."""
    body, kind = measures.scrape()
    assert kind.startswith("text/plain")
    return sum(
        sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


async def test_a_scrape_has_jobs_reconciles_calls_and_the_queue(cluster: LocalApi) -> None:
    measures = Prometheus("1.2.3")
    seam = Seam(MeasuredApi(cluster, measures))
    async with running(seam, measures=measures):
        await cluster.create(JOBS, build_job("a-job-of-mine"))
        await until(lambda: have_pods(cluster, 4, "a-job-of-mine"))
        await settled(seam)
        assert read(measures, "paddock_jobs", kind=KIND, phase="Pending") == 1
        assert read(measures, "paddock_jobs") == 1
        assert read(measures, "paddock_passes_total", kind=KIND, result="ok") >= 1
        passes = read(measures, "paddock_passes_total")
        assert read(measures, "paddock_pass_duration_seconds_count") == passes
        assert read(measures, "paddock_queue_wait_seconds_count") == passes
        assert read(measures, "paddock_queue_wait_seconds_sum") < 600
        assert read(measures, "paddock_queue_depth") == 0
        assert read(measures, "paddock_api_requests_total", verb="create", resource="pods", code="201") == 4
        assert read(measures, "paddock_api_request_duration_seconds_count", verb="create", resource="pods") == 4
        assert read(measures, "paddock_leader") == 1
        assert read(measures, "paddock_build_info", version="1.2.3") == 1
        assert read(measures, "process_resident_memory_bytes") > 2**20
        body = measures.scrape()[0].decode()
        assert "a-job-of-mine" not in body, "no label names a job"
        assert "_created" not in body
        await cluster.delete(JOBS, "default", "a-job-of-mine")
        await until(lambda: _have_no_jobs(measures))


async def _have_no_jobs(measures: Prometheus) -> bool:
    return read(measures, "paddock_jobs") == 0


@pytest.mark.parametrize(
    ("error", "result"),
    [(Conflict("x"), "conflict"), (Unavailable("x"), "error"), (RuntimeError("x"), "bug")],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_reconciles_are_counted_by_result(cluster: LocalApi, error: Exception, result: str) -> None:
    measures, seam, thrown = Prometheus("1"), Seam(cluster), asyncio.Event()

    async def throw_once(request: Request) -> None:
        if request[1] == "paddlejobs/status" and not thrown.is_set():
            thrown.set()
            raise error

    seam.before = throw_once
    async with running(seam, measures=measures):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        assert read(measures, "paddock_passes_total", result=result) == 1


async def test_calls_are_counted_with_the_code_of_their_answer(cluster: LocalApi) -> None:
    measures = Prometheus("1")
    api = MeasuredApi(cluster, measures)
    service = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "one", "namespace": "default"},
        "spec": {"clusterIP": "None"},
    }  # fmt: skip
    made = await api.create(SERVICES, service)
    with pytest.raises(AlreadyExists):
        await api.create(SERVICES, service)
    await api.replace(SERVICES, made)
    await api.patch(SERVICES, "default", "one", {"metadata": {"labels": {"a": "b"}}})
    assert len((await api.list(SERVICES, labels="a=b")).items) == 1
    await api.delete(SERVICES, "default", "one")
    with pytest.raises(NotFound):
        await api.get(SERVICES, "default", "one")
    calls = [
        (verb, code, read(measures, "paddock_api_requests_total", verb=verb, code=code, resource="services"))
        for verb, code in (
            ("create", "201"), ("create", "409"), ("update", "200"), ("patch", "200"), ("list", "200"),
            ("delete", "200"), ("get", "404"),
        )
    ]  # fmt: skip
    assert {count for *_, count in calls} == {1.0}, calls
    assert read(measures, "paddock_api_requests_total") == 7


async def test_a_call_that_is_cancelled_has_no_answer_and_is_not_counted(cluster: LocalApi) -> None:
    measures, seam, asked = Prometheus("1"), Seam(cluster), asyncio.Event()

    async def never(_: Request) -> None:
        asked.set()
        await asyncio.Event().wait()

    seam.before = never
    call = asyncio.create_task(MeasuredApi(seam, measures).get(SERVICES, "default", "one"))
    await asked.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert call.cancelled()
    assert read(measures, "paddock_api_requests_total") == 0


def test_a_job_is_counted_once_whatever_its_way_through_the_phases() -> None:
    from paddock.jobs.model import Phase

    measures, key = Prometheus("1"), Key("default", "demo")
    for phase in (Phase.NONE, Phase.PENDING, Phase.PENDING, Phase.RUNNING):
        measures.count_job(JOBS, key, phase)
    assert read(measures, "paddock_jobs", phase="Running") == 1
    assert read(measures, "paddock_jobs") == 1
    for _ in range(2):
        measures.count_job(JOBS, key, None)
    assert read(measures, "paddock_jobs") == 0


async def test_a_watch_that_is_started_again_is_counted() -> None:
    measures, told = Prometheus("1"), asyncio.Event()

    def note(resource: Resource) -> None:
        measures.watch_ended(resource)
        told.set()

    async with Client(Config("http://127.0.0.1:1"), on_watch_end=note) as client:
        following = asyncio.create_task(anext(client.follow(PODS)))
        await asyncio.wait_for(told.wait(), 60)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    assert read(measures, "paddock_watch_restarts_total", resource="pods") >= 1


def test_the_manual_lists_every_metric_with_its_labels() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "operator.md").read_text()
    listed = dict(re.findall(r"^\| `(paddock_\w+)` \|([^|]*)\|", page, re.MULTILINE))
    there = {
        vars(collector)["_name"]: vars(collector)["_labelnames"]
        for collector in Prometheus("1").registry._collector_to_names
        if getattr(collector, "_name", "").startswith("paddock_")
    }
    named = {
        re.sub(r"_(total|info)$", "", name): tuple(re.findall(r"`(\w+)`", labels)) for name, labels in listed.items()
    }
    there["paddock_build"] = ("version",)  # an Info's own
    assert named == there
