"""Jobs that wait for Datasets: a change of one queues those jobs, and no pod is touched by it later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.datasets.crd import build_crd
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.api import Event
from paddock.kube.errors import Forbidden
from paddock.kube.meta import CRDS, DATASETS, PODS, Manifest, Resource, name_of, uid_of
from support.datasets import build_dataset, mounting, tell_progress, write_status
from support.operator_seam import (
    JOBS,
    SETTINGS,
    Seam,
    build_job,
    have_pods,
    open_cluster,
    pods_of,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until

WATCHING = replace(SETTINGS, datasets=True)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        await api.create(CRDS, build_crd())
        yield api


def job_of(name: str = "demo", text: str = "imagenet:/data") -> Manifest:
    return mounting(build_job(name, ps=0), text)


async def said_of(api: LocalApi, name: str = "demo") -> str:
    cause = (await status_of(api, name)).get("cause") or {}
    return explain(CauseRecord(cause["reason"], cause.get("args") or {})) if cause else ""


async def says(api: LocalApi, sentence: str, name: str = "demo") -> bool:
    return sentence in await said_of(api, name)


async def test_a_job_begins_when_its_dataset_is_ready_and_tells_its_progress_until_then(cluster: LocalApi) -> None:
    async with running(cluster, WATCHING):
        await cluster.create(JOBS, job_of())
        await until(lambda: says(cluster, "which namespace default lacks"))
        await cluster.create(DATASETS, build_dataset())
        await until(lambda: says(cluster, "waiting for dataset imagenet"))
        await tell_progress(cluster, "imagenet", 41)
        await until(lambda: says(cluster, "waiting for dataset imagenet: 41 %, 3.3 of 8.0 GB"))
        assert not await pods_of(cluster)
        await write_status(cluster, "imagenet", "Ready")
        pods = await until(lambda: have_pods(cluster, 2))
    (volume,) = {str(pod["spec"]["volumes"]) for pod in pods.values()}
    assert "dataset-imagenet" in volume


async def test_two_jobs_wait_for_one_dataset(cluster: LocalApi) -> None:
    await cluster.create(DATASETS, build_dataset())
    async with running(cluster, WATCHING):
        for name in ("one", "two"):
            await cluster.create(JOBS, job_of(name))
            await until(lambda name=name: says(cluster, "waiting for dataset imagenet", name))  # type: ignore[misc]
        await write_status(cluster, "imagenet", "Ready")
        for name in ("one", "two"):
            await until(lambda name=name: have_pods(cluster, 2, name))  # type: ignore[misc]


async def test_a_rerun_does_not_touch_running_pods_and_the_next_attempt_waits(cluster: LocalApi) -> None:
    await cluster.create(DATASETS, build_dataset())
    await write_status(cluster, "imagenet", "Ready")
    seam = Seam(cluster)
    async with running(seam, WATCHING):
        await cluster.create(JOBS, job_of())
        before = await until(lambda: have_pods(cluster, 2))
        for pod in before:
            await set_phase(cluster, pod, "Running", address=f"127.0.0.{pod[-1]}")
        await settled(seam)
        await cluster.patch(DATASETS, "default", "imagenet", {"spec": {"round": 1}})
        await tell_progress(cluster, "imagenet", 5)
        await settled(seam)
        assert {uid_of(pod) for pod in (await pods_of(cluster)).values()} == set(map(uid_of, before.values()))

        await cluster.delete(PODS, "default", "demo-worker-0")
        await until(lambda: says(cluster, "waiting for dataset imagenet: 5 %"))
        await settled(seam)
        assert not await pods_of(cluster)
        await write_status(cluster, "imagenet", "Ready")
        after = await until(lambda: have_pods(cluster, 2))
    assert {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in after.values()} == {"1"}


async def test_a_hundred_writes_of_progress_write_a_job_once_for_each_per_cent(cluster: LocalApi) -> None:
    await cluster.create(DATASETS, build_dataset())
    seam = Seam(cluster)
    async with running(seam, WATCHING):
        await cluster.create(JOBS, job_of())
        await until(lambda: says(cluster, "waiting for dataset imagenet"))
        seam.requests.clear()
        for done in range(100):
            size = {"bytesDone": 40_000_000 + done * 1000, "bytesTotal": 100_000_000}
            await write_status(cluster, "imagenet", "Fetching", progress=40, **size)
        await until(lambda: says(cluster, "40 %"))
        await settled(seam)
    assert [request for request in seam.requests if request[1] == "paddlejobs/status"] == [
        ("patch", "paddlejobs/status", "demo")
    ]
    assert sum(verb == "get" for verb, *_ in seam.requests) < 10, "most changes queue no job"


async def test_a_claim_of_a_template_waits_for_the_dataset_behind_it(cluster: LocalApi) -> None:
    job = build_job(ps=0)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "dataset-imagenet"}}
    job["spec"]["worker"]["template"]["spec"]["volumes"] = [volume]
    await cluster.create(DATASETS, build_dataset())
    async with running(cluster, WATCHING):
        await cluster.create(JOBS, job)
        await until(lambda: says(cluster, "waiting for dataset imagenet"))
        await write_status(cluster, "imagenet", "Ready")
        await until(lambda: have_pods(cluster, 2))


async def test_an_operator_without_datasets_says_what_an_administrator_installs(cluster: LocalApi) -> None:
    await cluster.create(DATASETS, build_dataset())
    await write_status(cluster, "imagenet", "Ready")
    seam = Seam(cluster)
    async with running(seam, SETTINGS):
        await cluster.create(JOBS, job_of())
        await cluster.create(JOBS, build_job("plain", ps=0))
        await until(lambda: says(cluster, "`paddock manifests --datasets --image IMAGE`"))
        await until(lambda: have_pods(cluster, 2, "plain"))
    assert not await pods_of(cluster)


async def test_where_the_kind_is_not_installed_other_jobs_go_on_and_one_that_needs_it_is_told(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api, running(api, WATCHING):
        await api.create(JOBS, job_of())
        await api.create(JOBS, build_job("plain", ps=0))
        await until(lambda: says(api, "the operator cannot read Datasets"))
        await until(lambda: have_pods(api, 2, "plain"))
        await api.create(CRDS, build_crd())
        await api.create(DATASETS, build_dataset())
        await write_status(api, "imagenet", "Ready")
        await until(lambda: have_pods(api, 2))


class Refusing(Seam):
    """The operator may not read Datasets."""

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        if resource == DATASETS:
            raise Forbidden("datasets.paddock.dev is forbidden")
        async for event in super().follow(resource, namespace, **selectors):
            yield event


async def test_an_operator_without_the_right_is_ready_all_the_same_and_tells_the_servers_answer(
    cluster: LocalApi,
) -> None:
    async with running(Refusing(cluster), WATCHING) as operator:
        assert operator.unsynced() == ()
        await cluster.create(JOBS, job_of())
        await until(lambda: says(cluster, "the operator cannot read Datasets: datasets.paddock.dev is forbidden"))


async def test_a_dataset_that_is_deleted_while_a_job_waits_is_told_and_its_successor_is_waited_for(
    cluster: LocalApi,
) -> None:
    held = build_dataset()
    held["metadata"]["finalizers"] = ["paddock.dev/dataset"]
    await cluster.create(DATASETS, held)
    async with running(cluster, WATCHING):
        await cluster.create(JOBS, job_of())
        await tell_progress(cluster, "imagenet", 41)
        await until(lambda: says(cluster, "41 %"))
        await cluster.delete(DATASETS, "default", "imagenet")
        await until(lambda: says(cluster, "which is being deleted"))
        await cluster.patch(DATASETS, "default", "imagenet", {"metadata": {"finalizers": None}})
        await until(lambda: says(cluster, "which namespace default lacks"))
        await cluster.create(DATASETS, build_dataset())
        await write_status(cluster, "imagenet", "Ready")
        pods = await until(lambda: have_pods(cluster, 2))
    assert sorted(map(name_of, pods.values())) == ["demo-worker-0", "demo-worker-1"]
