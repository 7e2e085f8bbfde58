"""metrics.k8s.io of a cluster -> what the ranks of a job use, for the reader who looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from paddock.app.consoles.used.sampled import LINGER_SECONDS, SampledMetrics, read_samples
from paddock.console.backend import Identity
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, Listing, T
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import PODS, Manifest, Resource
from paddock.kube.usage import POD_METRICS, Usage, build_pod_metrics

PADDLE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")
ANNA = Identity("anna")


def pod(index: int, uid: str = "one") -> Manifest:
    labels = {JOB_LABEL: "mnist", ROLE_LABEL: "worker", INDEX_LABEL: str(index), ATTEMPT_LABEL: "0"}
    owner = {"apiVersion": PADDLE.api_version, "kind": "PaddleJob", "name": "mnist", "uid": uid, "controller": True}
    return {"metadata": {"name": f"mnist-worker-{index}", "labels": labels, "ownerReferences": [owner]}}


class Cluster(Api):
    """With two workers, which have used `cores` at `now`."""

    def __init__(self) -> None:
        self.now, self.cores, self.asked = 1000.0, 0.5, 0
        self.refused: Exception | None = None

    async def send(self, call: Call[T]) -> T:
        assert isinstance(call, List)
        if call.resource == PODS:
            return Listing([pod(0), pod(1)], "1")  # type: ignore[return-value]
        assert call.resource == POD_METRICS and call.labels == f"{JOB_LABEL}=mnist"
        self.asked += 1
        if self.refused:
            raise self.refused
        usage = Usage(self.now, 15.0, self.cores, 2.0**20)
        items = [build_pod_metrics(pod(index), {"paddle": usage, "side": usage}) for index in (0, 1)]
        return Listing(items, "1")  # type: ignore[return-value]

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        raise AssertionError
        yield  # type: ignore[unreachable]


class Clock:
    """`pauses`: how often somebody waits; each waits until `go_on`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._turn = asyncio.Event()
        self.waits = asyncio.Event()

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.waits.set()
        await self._turn.wait()
        self._turn.clear()

    async def go_on(self, seconds: float) -> None:
        await self.waits.wait()
        self.waits.clear()
        self.now += seconds
        self._turn.set()


@pytest.fixture
async def sampled() -> AsyncIterator[tuple[Cluster, Clock, SampledMetrics]]:
    cluster, clock = Cluster(), Clock()
    metrics = SampledMetrics(lambda _: cluster, clock=clock, pause=clock.pause)
    yield cluster, clock, metrics
    await metrics.close()


async def find(metrics: SampledMetrics, ranks: Sequence[str] = ("worker-0",), uid: str = "one") -> Any:
    return await metrics(ANNA).find(PADDLE, "default", "mnist", uid, ranks)


async def test_it_is_read_each_fifteen_seconds_while_somebody_looks_and_afterwards(
    sampled: tuple[Cluster, Clock, SampledMetrics],
) -> None:
    cluster, clock, metrics = sampled
    found = await find(metrics)
    assert [(each.rank, list(each.times), list(each.columns["cpu"])) for each in found.ranks] == [
        ("worker-0", [1000.0], [1.0])
    ], "all containers of a pod together"
    assert (found.measured, found.since) == (True, 1000.0)
    await find(metrics)
    assert cluster.asked == 1, "a page asks each three seconds"
    cluster.now = 1015.0
    await clock.go_on(15)
    await clock.waits.wait()
    assert cluster.asked == 2
    found = await find(metrics, ("worker-0", "worker-1"))
    assert [list(each.times) for each in found.ranks] == [[1000.0, 1015.0]] * 2
    gone = await find(metrics, uid="")
    assert [list(each.times) for each in gone.ranks] == [[1000.0, 1015.0]], "of a job that is gone, what was read"
    await clock.go_on(LINGER_SECONDS + 1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert cluster.asked == 2 and not clock.waits.is_set(), "nobody has looked for an hour"


async def test_a_cluster_without_metrics_and_a_reader_without_rights(
    sampled: tuple[Cluster, Clock, SampledMetrics],
) -> None:
    cluster, clock, metrics = sampled
    cluster.refused = NotFound("the server could not find the requested resource")
    assert not (await find(metrics)).measured
    cluster.refused = Forbidden("pods.metrics.k8s.io is forbidden")
    clock.now += 15
    with pytest.raises(Forbidden):
        await find(metrics)


async def test_what_is_kept_of_a_job_that_is_looked_at_for_days_is_bounded() -> None:
    cluster, clock = Cluster(), Clock()
    metrics = SampledMetrics(lambda _: cluster, clock=clock, pause=clock.pause, most=140)
    for _ in range(150):
        await find(metrics)
        clock.now = cluster.now = cluster.now + 15.0
    found = await find(metrics, ("worker-0", "worker-1"))
    assert sum(len(each.times) for each in found.ranks) <= 140
    assert {each.times[-1] for each in found.ranks} == {cluster.now}
    await metrics.close()


def test_pods_of_another_job_and_metrics_of_another_shape_are_left_out() -> None:
    usage = {"paddle": Usage(1.0, 1.0, 1.0, 1024.0)}
    good = build_pod_metrics(pod(0), usage)
    broken = [{}, {"metadata": {"name": "mnist-worker-0"}}, good | {"containers": [{"usage": {"cpu": "many"}}]}]
    assert [place.index for place, _ in read_samples([pod(0), pod(1, "two")], [good, *broken], "one")] == [0]
    assert read_samples([pod(0)], [good], "two") == []
