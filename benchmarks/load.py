"""The load of a fleet, in a process of its own, as its work is not to be counted as the operator's.

    python -m benchmarks.load submit KUBECONFIG JOBS PODS           creates jobs, and sees all their pods exist
    python -m benchmarks.load bare KUBECONFIG JOBS PODS             creates such jobs' pods and Services by itself
    python -m benchmarks.load publish KUBECONFIG JOBS PODS PHASE    says of the first jobs' pods what kubelets would say
    python -m benchmarks.load expect KUBECONFIG PHASE JOBS          waits until so many jobs are in that phase
    python -m benchmarks.load delete KUBECONFIG TIMES PODS          a pod of one job after the other; sees its new gang
    python -m benchmarks.load replace KUBECONFIG TIMES PODS         makes such new gangs by itself

Jobs are PaddleJobs; $PADDOCK_BENCH_SHAPE names another of `benchmarks.shapes.SHAPES`. What is bare uses Paddock's
client too, with as many requests at once as its operator has, and both see by a watch when the last pod exists: what is
left between them is the operator. They print what they saw as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import uvloop

from benchmarks.shapes import NAMESPACE, SHAPES
from paddock.client.client import Client
from paddock.client.connection import Connection
from paddock.client.kubeconfig import read_config
from paddock.client.requests import Request, build, build_watch
from paddock.client.watch import Cursor
from paddock.jobs.labels import ATTEMPT_LABEL, JOB_LABEL
from paddock.jobs.model import Job, Settings
from paddock.jobs.objects.pods import build_pod, build_service
from paddock.kube.calls import Create, List
from paddock.kube.meta import PODS, SERVICES, Manifest, Resource, labels_of
from paddock.operator.apply import MAX_CONCURRENT_WRITES

SHAPE = SHAPES[os.environ.get("PADDOCK_BENCH_SHAPE", "paddle")]
JOBS = SHAPE.resource
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_NOW = "2026-01-01T00:00:00Z"


def build_job(name: str, pods: int) -> Manifest:
    return SHAPE.build_job(name, pods)


async def submit(client: Client, jobs: str, pods: str) -> Any:
    """Seconds from the first request to: all jobs accepted, all pods exist; and of a job from its own to its pods."""
    sent: dict[str, float] = {}

    async def create(name: str) -> None:
        sent[name] = time.perf_counter()
        await _create(connection, JOBS, build_job(name, int(pods)))

    async with _watching(client) as gangs, _connected(client) as connection:
        begun = time.perf_counter()
        await _all(create, _names(jobs))
        accepted = time.perf_counter() - begun
        seen = {name: await gangs.whole(name, 0, int(pods)) for name in _names(jobs)}
    waited = sorted(seen[name] - sent[name] for name in seen)
    return {
        "seconds": max(seen.values()) - begun,
        "accepted": accepted,
        "p50": statistics.median(waited),
        "p99": waited[int(0.99 * len(waited))],
    }


async def bare(client: Client, jobs: str, pods: str) -> Any:
    """Seconds from the first request until all pods and Services exist: the same bytes that an operator sends."""
    objects = [each for name in _names(jobs) for each in build_children(name, int(pods))]
    async with _watching(client) as gangs, _connected(client) as connection:
        begun = time.perf_counter()
        await _all(lambda each: _create(connection, *each), objects)
        created = time.perf_counter()
        seen = [await gangs.whole(name, 0, int(pods)) for name in _names(jobs)]
    return {"seconds": max(created, *seen) - begun}


async def _create(connection: Connection, resource: Resource, manifest: Manifest) -> None:
    """Its answer is not read as an object: that would be work of this process, which shares the cores."""
    await connection.send(build(Create(resource, NAMESPACE, manifest=manifest)))


async def publish(client: Client, jobs: str, pods: str, phase: str) -> Any:
    """Seconds that it took."""
    names = [pod for name in _names(jobs) for pod in SHAPE.list_pods(name, int(pods))]
    begun = time.perf_counter()

    async def patch(numbered: tuple[int, str]) -> None:
        status = build_pod_status(numbered[0], phase)
        await client.patch(PODS, NAMESPACE, numbered[1], {"status": status}, subresource="status")

    await _all(patch, enumerate(names))
    return {"seconds": time.perf_counter() - begun, "pods": len(names)}


def build_pod_status(number: int, phase: str) -> Manifest:
    """What a kubelet says of a pod; its address follows from `number`."""
    state: Manifest = {"running": {"startedAt": _NOW}}
    if phase == "Succeeded":
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": _NOW, "finishedAt": _NOW}}
    container = {"name": SHAPE.container, "ready": phase == "Running", "state": state, "image": "x", "imageID": "x",
                 "restartCount": 0}  # fmt: skip
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return {"phase": phase, "podIP": address, "startTime": _NOW, "containerStatuses": [container]}


async def expect(client: Client, phase: str, jobs: str) -> Any:
    """Seconds that it took."""
    begun, there = time.perf_counter(), set[str]()
    async for event in client.follow(JOBS, NAMESPACE):
        if event.type != "SYNCED" and (event.object.get("status") or {}).get("phase") == phase:
            there.add(event.object["metadata"]["name"])
        if len(there) >= int(jobs):
            break
    return {"seconds": time.perf_counter() - begun}


async def delete(client: Client, times: str, pods: str) -> Any:
    """Seconds from a pod's deletion until its job's next gang is whole, for one job after the other."""
    async with _watching(client) as gangs:
        return [await _delete(client, gangs, name, int(pods)) for name in _names(times)]


async def _delete(client: Client, gangs: _Gangs, name: str, pods: int) -> float:
    begun = time.perf_counter()
    await client.delete(PODS, NAMESPACE, f"{name}-worker-1")
    return await gangs.whole(name, 1, pods) - begun


async def replace(client: Client, times: str, pods: str) -> Any:
    """The same, bare: one pod is deleted, then the others, then all are made again."""
    async with _watching(client) as gangs:
        return [await _replace(client, gangs, name, int(pods)) for name in _names(times)]


async def _replace(client: Client, gangs: _Gangs, name: str, pods: int) -> float:
    names = SHAPE.list_pods(name, pods)
    again = [each for each in build_children(name, pods, attempt=1) if each[0] == PODS]
    begun = time.perf_counter()
    await client.delete(PODS, NAMESPACE, names.pop())
    await asyncio.gather(*(client.delete(PODS, NAMESPACE, pod) for pod in names))
    await asyncio.gather(*(client.create(*each) for each in again))
    return await gangs.whole(name, 1, pods) - begun


def _names(jobs: str) -> list[str]:
    return [f"job-{number}" for number in range(int(jobs))]


def build_children(name: str, pods: int, attempt: int = 0) -> list[tuple[Resource, Manifest]]:
    """What the operator makes of such a job, in its order."""
    job = _read_job(name, pods)
    services = [(SERVICES, build_service(job, rank)) for rank in job.ranks()]
    return [*services, *((PODS, build_pod(job, rank, attempt, None, Settings())) for rank in job.ranks())]


def _read_job(name: str, pods: int) -> Job:
    manifest = build_job(name, pods)
    manifest["metadata"] |= {"uid": f"00000000-0000-0000-0000-{name:>012}", "generation": 1}
    return SHAPE.api.read_job(manifest)


async def _all(work: Callable[[Any], Awaitable[Any]], items: Iterable[Any]) -> None:
    """For each item, `MAX_CONCURRENT_WRITES` at a time, begun in order."""
    left = iter(items)

    async def take() -> None:
        for item in left:
            await work(item)

    await asyncio.gather(*(take() for _ in range(MAX_CONCURRENT_WRITES)))


class _Gang(NamedTuple):
    job: str
    attempt: str


class _Gangs:
    """Which pods have been seen by a watch, and when."""

    def __init__(self) -> None:
        self._seen: dict[_Gang, list[float]] = {}
        self._news = asyncio.Event()

    async def watch(self, connection: Connection, begun: asyncio.Event) -> None:
        """Of pods that are made from now on, the metadata alone: it is cheap for the server and for this process."""
        listed = json.loads(await connection.send(Request("GET", PODS.path(NAMESPACE), {"limit": "1"})))
        cursor = Cursor(listed["metadata"]["resourceVersion"])
        watch = build_watch(List(PODS, NAMESPACE), cursor.version, seconds=3600)
        stream = connection.stream(Request("GET", watch.path, watch.query, {"Accept": _METADATA}))
        begun.set()
        async for chunk in stream:
            for line in cursor.feed(chunk):
                if line.type == "ADDED":
                    labels = labels_of(json.loads(line.object))
                    gang = _Gang(labels[JOB_LABEL], labels[ATTEMPT_LABEL])
                    self._seen.setdefault(gang, []).append(time.perf_counter())
            self._news.set()

    async def whole(self, job: str, attempt: int, pods: int) -> float:
        """When the last pod of this gang was seen."""
        seen = self._seen.setdefault(_Gang(job, str(attempt)), [])
        while len(seen) < pods:
            self._news.clear()
            await self._news.wait()
        return seen[-1]


@asynccontextmanager
async def _connected(client: Client) -> AsyncIterator[Connection]:
    connection = Connection(client.config, timeout=120.0)
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _watching(client: Client) -> AsyncIterator[_Gangs]:
    gangs, begun = _Gangs(), asyncio.Event()
    connection = Connection(client.config)
    await connection.open()
    watching = asyncio.create_task(gangs.watch(connection, begun))
    try:
        await begun.wait()
        yield gangs
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await connection.close()


_WORK: dict[str, Callable[..., Awaitable[Any]]] = {
    "submit": submit,
    "bare": bare,
    "publish": publish,
    "expect": expect,
    "delete": delete,
    "replace": replace,
}


def run_verb(work: Mapping[str, Callable[..., Awaitable[Any]]]) -> None:
    """Runs the verb of the command line over a client, with the words that follow, and prints its result as JSON."""
    verb, kubeconfig, *words = sys.argv[1:]

    async def run() -> None:
        async with Client(read_config(kubeconfig), timeout=120.0) as client:
            print(json.dumps(await work[verb](client, *words)))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


if __name__ == "__main__":
    run_verb(_WORK)
