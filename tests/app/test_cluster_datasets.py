"""Datasets beside the operator of a cluster: only a leader fetches, with the rights that come with `--datasets`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.cluster import ClusterOperator, Options
from paddock.app.cluster_datasets import ClusterDatasets, build_fetch_pod, build_log_reader, read_nothing
from paddock.datasets.cluster import ClusterSupplier
from paddock.datasets.fetch_jobs import FetchPod
from paddock.datasets.fetching import Failed, Fault, Fetched
from paddock.datasets.job_reading import ReadLog
from paddock.datasets.request_shares import OF_ONE
from paddock.datasets.sources import COPIED, Kind
from paddock.install.deployment import Installation, build_operator
from paddock.install.rights import OF_DATASETS
from paddock.kube.api import Api
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CLAIMS, DATASETS, NAMESPACES, PODS, Manifest, name_of
from paddock.operator.election import NO_TERMS, Leadership, Term
from paddock.operator.metrics import Prometheus
from support.fetch_jobs import Cluster, WithBatchJobs, build_dataset, install
from support.operator_seam import open_cluster
from support.rights import Asked, Guard, Wrapper
from support.waiting import LoopClock, rest, until

TEAM = "team-a"
POD = FetchPod("paddock:1")
URI = "https://host.example/words.tar"
AT_ONCE = 0.02


@pytest.mark.parametrize(
    ("image", "environ", "pod"),
    [
        ("", {"PADDOCK_IMAGE": "mirror/paddock:1"}, FetchPod("mirror/paddock:1")),
        ("mine:1", {"PADDOCK_IMAGE": "mirror/paddock:1"}, FetchPod("mine:1", COPIED)),
        ("", {"PADDOCK_IMAGE": "mine:1", "https_proxy": "http://proxy:3128", "HTTP_PROXY": "http://me:secret@proxy:3128",
              "NO_PROXY": ""},
         FetchPod("mine:1", proxies=(("https_proxy", "http://proxy:3128"),))),
    ],
)  # fmt: skip
def test_pods_fetch_in_the_operators_image_or_in_one_that_has_more(
    image: str, environ: Mapping[str, str], pod: FetchPod
) -> None:
    assert build_fetch_pod(image, environ) == pod


def test_the_operators_image_fetches_by_http_and_s3() -> None:
    """tests/app/test_operator_image.py says that it has what these import."""
    assert FetchPod("mine:1").kinds == {Kind.HTTP, Kind.S3}


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        await install(api)
        for name in (TEAM, "ops"):
            await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield api


class Throne:
    """A leadership that the test gives and takes."""

    def __init__(self) -> None:
        self.given = asyncio.Event()

    shards = 1

    @property
    def terms(self) -> Mapping[int, Term | None]:
        return {0: None} if self.given.is_set() else NO_TERMS

    def holds(self, shard: int, term: Term | None) -> bool:
        return shard in self.terms

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        await self.given.wait()


def build(
    api: Api,
    leadership: Leadership | None = None,
    read_log: ReadLog = read_nothing,
    *,
    retry_seconds: float = AT_ONCE,
) -> ClusterDatasets:
    supplier = ClusterSupplier(api, read_log, POD, poll_seconds=AT_ONCE)
    supplier.status_seconds = AT_ONCE
    return ClusterDatasets(api, supplier, (TEAM,), leadership, look_seconds=AT_ONCE, retry_seconds=retry_seconds)


@asynccontextmanager
async def running(datasets: ClusterDatasets) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(datasets.run())
    try:
        yield task
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def pass_looks() -> None:
    """Some of them: a pause of the machine is one look to both sides."""
    for _ in range(20):
        await asyncio.sleep(AT_ONCE)


async def test_only_a_leader_fetches_and_one_that_leads_no_more_stops(local: LocalApi) -> None:
    api, throne = WithBatchJobs(local), Throne()
    cluster = Cluster(api, TEAM)
    await api.create(DATASETS, build_dataset("first", TEAM, URI))
    async with running(build(api, throne)):
        for _ in range(20):
            await asyncio.sleep(0)
        assert await cluster.jobs() == []
        throne.given.set()
        job = await cluster.job()
        throne.given.clear()
        await pass_looks()  # the next one, at which it stops; nothing tells of it
        await api.create(DATASETS, build_dataset("second", TEAM, URI))
        await pass_looks()
        assert [each["metadata"]["uid"] for each in await cluster.jobs()] == [job["metadata"]["uid"]]
        throne.given.set()
        await cluster.job(but=name_of(job))


async def test_a_leader_that_did_not_lead_for_long_does_not_begin_anew_at_once(local: LocalApi) -> None:
    """What takes the leadership may be the start itself."""
    api, throne = WithBatchJobs(local), Throne()
    cluster = Cluster(api, TEAM)
    await api.create(DATASETS, build_dataset("first", TEAM, URI))
    datasets = build(api, throne, retry_seconds=3600)
    async with running(datasets):
        throne.given.set()
        await cluster.job()
        throne.given.clear()
        await pass_looks()
        throne.given.set()
        await api.create(DATASETS, build_dataset("second", TEAM, URI))
        await pass_looks()
        assert len(await cluster.jobs()) == 1


class Logs:
    """A client that streams a log: as many chunks, and then nothing until it is closed."""

    def __init__(self, chunk: bytes, count: int) -> None:
        self.chunk, self.left, self.closed = chunk, count, False

    async def stream_log(self, namespace: str, pod: str, *, tail: int) -> AsyncIterator[bytes]:
        try:
            while self.left:
                self.left -= 1
                yield self.chunk
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def test_of_a_log_without_end_a_megabyte_is_read() -> None:
    logs: Any = Logs(b"x" * 65_536, 10_000)
    assert len(await build_log_reader(logs)(TEAM, "pod")) == 65_536
    assert 10_000 - logs.left == 17
    assert logs.closed


async def test_a_log_that_does_not_end_in_time_is_what_has_come_of_it() -> None:
    clock, logs = LoopClock(), Logs(b"half a line", 1)
    client: Any = logs
    reading = asyncio.create_task(build_log_reader(client)(TEAM, "pod"))
    await clock.advance(0.0)
    assert not reading.done()
    await clock.advance(10.1)
    assert await reading == b"half a line"
    assert logs.closed


class Hidden(Wrapper):
    """An API in which Datasets may not be read, until they may."""

    allowed = False

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        if asked.resource == DATASETS and not self.allowed:
            raise Forbidden("datasets.paddock.dev is forbidden")
        yield


async def test_without_the_rights_the_log_says_so_once_and_it_goes_on_when_they_are_given(
    local: LocalApi, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = Hidden(WithBatchJobs(local))
    await local.create(DATASETS, build_dataset("words", TEAM, URI))

    def said() -> list[str]:
        return [line for line in caplog.messages if "datasets cannot be served" in line]

    async def is_said() -> bool:
        return bool(said())

    async with running(build(hidden)):
        await until(is_said)
        hidden.allowed = True
        await Cluster(WithBatchJobs(local), TEAM).job()
    assert said() == ["datasets cannot be served, trying again: datasets.paddock.dev is forbidden"]


async def test_the_operator_runs_them_and_ends_in_order(local: LocalApi) -> None:
    api, stop = WithBatchJobs(local), asyncio.Event()
    operator = ClusterOperator(api, api, Options("ops", (TEAM,), datasets=POD, leader_elect=True), Prometheus("1"))
    task = asyncio.create_task(operator.run(stop))
    await api.create(DATASETS, build_dataset("words", TEAM, URI))
    await Cluster(api, TEAM).job()
    stop.set()
    await asyncio.wait_for(task, 60)


class Held(Wrapper):
    """An API that does not answer who asks for a claim."""

    count = 0

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        if asked.resource == CLAIMS:
            self.count += 1
            await asyncio.Event().wait()
        yield


async def test_of_a_namespace_the_operator_has_few_requests_on_their_way(local: LocalApi) -> None:
    held = Held(WithBatchJobs(local))
    operator = ClusterOperator(held, held, Options("ops", (TEAM,), datasets=POD), Prometheus("1"))
    for number in range(20):
        await local.create(DATASETS, build_dataset(f"words-{number}", TEAM, URI))
    task = asyncio.create_task(operator.run(asyncio.Event()))
    try:
        await until(lambda: held.count == OF_ONE)
        await rest(lambda: held.count, 0.3)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert held.count == OF_ONE


async def test_no_right_is_lacking_and_each_is_used(local: LocalApi) -> None:
    """Of those that `--datasets` adds, by the lives below; tests/operator/test_rights.py has the others."""
    installation = Installation(namespace="ops", watched=(TEAM,), datasets=True)
    guard = Guard(WithBatchJobs(local), build_operator(installation))
    cluster = Cluster(WithBatchJobs(local), TEAM)

    async def read_log(namespace: str, pod: str) -> bytes:
        async with guard.asking(Asked("get", PODS, "log", pod, namespace)):
            return await cluster.read_log(namespace, pod)

    async with running(build(guard, read_log=read_log)):
        await live_all(cluster)
    assert guard.refused == set()
    granted = {(verb, right.plural) for right in OF_DATASETS for verb in right.verbs}
    assert granted - {(each.verb, each.plural) for each in guard.used} == {("update", "datasets/finalizers")}


async def live_all(cluster: Cluster) -> None:
    """One that is fetched at the second try, whose claim is slow; one of a claim that is not there; their end."""
    api = cluster.api
    await api.create(DATASETS, build_dataset("words", TEAM, URI))
    job = await cluster.job()
    pod = await cluster.make_pod(job)
    await cluster.warn(await cluster.claim(), "ProvisioningFailed", "no room")
    await until(lambda: is_told(cluster, "words", "no room"))
    await cluster.end_pod(pod, 1, Failed(message="no disk", fault=Fault.MACHINE))
    await cluster.end_job(job, "Failed")

    async def is_new() -> Manifest | None:
        return next((each for each in await cluster.jobs() if each["metadata"]["uid"] != job["metadata"]["uid"]), None)

    again = await until(is_new)
    pod = await cluster.start_pod(again)
    cluster.say(pod, Fetched(size=1, files=1))
    await cluster.end_pod(pod, 0)
    await until(lambda: is_told(cluster, "words", "1 B in 1 file"))
    await api.create(DATASETS, build_dataset("photos", TEAM, "claim://photos"))
    await until(lambda: is_told(cluster, "photos", 'there is no claim "photos"'))
    for name in ("words", "photos"):
        await api.delete(DATASETS, TEAM, name)
        await until(lambda name=name: is_gone(cluster, name))


async def is_told(cluster: Cluster, name: str, said: str) -> bool:
    status: dict[str, Any] = (await cluster.api.get(DATASETS, TEAM, name)).get("status") or {}
    return said in str(status.get("message"))


async def is_gone(cluster: Cluster, name: str) -> bool:
    try:
        await cluster.api.get(DATASETS, TEAM, name)
    except NotFound:
        return True
    return False
