"""Scale edits of jobs that run, in a process of its own, which also says of new pods that they run, as kubelets would.

    python -m benchmarks.edit_load edit KUBECONFIG JOBS PODS EDITS    by the subresource `scale`; the operator follows
    python -m benchmarks.edit_load bare KUBECONFIG JOBS PODS EDITS    the same pods and Services, by this process itself

The jobs are there, each with PODS workers, and take turns; an edit comes every `PACE` seconds, whether the one before
has been followed or not. Sizes are 1 to `MOST`, by a fixed seed. $PADDOCK_BENCH_SHAPE is an elastic one of
`benchmarks.shapes.SHAPES`: torchrun's pods stay where a size changes, and of any other job all are made anew. An edit
has been followed once the pods of its size, or of that of a later edit, exist, and no others of its job do.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.load import JOBS, SHAPE, build_children, build_pod_status, run_verb
from benchmarks.shapes import MOST, NAMESPACE
from paddock.client.client import Client
from paddock.jobs.labels import ATTEMPT_LABEL, JOB_LABEL
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, SERVICES, Manifest, Resource, labels_of, name_of

PACE = 0.3
"""Seconds from one edit to the next: 200 in a minute."""
PATIENCE = 60.0
"""Seconds after the last edit, within which all have to be followed."""


@dataclass(slots=True)
class Gang:
    """The pods of a job that exist, with their attempts, and the edits that they have not followed yet.

    `size`: of the last edit; `above`: the pods of ranks of that size have to be of a later attempt."""

    name: str
    size: int
    above: int = -1
    pods: dict[str, int] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)
    followed: list[float] = field(default_factory=list)
    overtaken: int = 0

    @property
    def attempt(self) -> int:
        return max(self.pods.values(), default=-1)

    def edit(self, size: int) -> None:
        self.above = self.attempt if SHAPE.made_anew else -1
        self.size = size
        self.asked.append(time.perf_counter())

    def look(self) -> None:
        """Every edit so far has been followed, if these are the pods that the last one asks for."""
        wanted = set(SHAPE.list_pods(self.name, self.size))
        if self.asked and set(self.pods) == wanted and min(self.pods.values()) > self.above:
            now = time.perf_counter()
            self.followed += [now - asked for asked in self.asked]
            self.overtaken += len(self.asked) - 1
            self.asked.clear()


Act = Callable[[Gang, int], Coroutine[Any, Any, None]]
"""Follows the last edit of a gang, which had so many pods before."""


async def edit(client: Client, jobs: str, pods: str, edits: str) -> Any:
    """Seconds from an edit until its pods exist, and the sizes at the end, by job."""

    async def scale(gang: Gang, _: int) -> None:
        patch = {"spec": {"replicas": gang.size}}
        await client.patch(JOBS, NAMESPACE, gang.name, patch, subresource="scale")

    return await _run(client, scale, int(jobs), int(pods), int(edits))


async def bare(client: Client, jobs: str, pods: str, edits: str) -> Any:
    """The same, by creations and deletions that wait for nothing: of a gang that is made anew, first the deletions."""

    async def resize(gang: Gang, before: int) -> None:
        there = build_children(gang.name, before, gang.attempt)
        wanted = build_children(gang.name, gang.size, gang.attempt + SHAPE.made_anew)
        kept = {(kind, name_of(each)) for kind, each in there} & {(kind, name_of(each)) for kind, each in wanted}
        if SHAPE.made_anew:
            kept = {one for one in kept if one[0] == SERVICES}
        await _each(there, kept, lambda kind, each: client.delete(kind, NAMESPACE, name_of(each)))
        await _each(wanted, kept, client.create)

    return await _run(client, resize, int(jobs), int(pods), int(edits))


async def _each(
    objects: list[tuple[Resource, Manifest]],
    kept: set[tuple[Resource, str]],
    work: Callable[[Resource, Manifest], Awaitable[Any]],
) -> None:
    await asyncio.gather(*(work(*each) for each in objects if (each[0], name_of(each[1])) not in kept))


async def _run(
    client: Client, act: Callable[[Gang, int], Coroutine[Any, Any, None]], jobs: int, pods: int, edits: int
) -> Any:
    gangs = {f"job-{number}": Gang(f"job-{number}", pods) for number in range(jobs)}
    async with _watching(client, gangs) as news, asyncio.TaskGroup() as acts:
        begun = time.perf_counter()
        for number, (name, size) in enumerate(_choose(list(gangs), pods, edits)):
            await asyncio.sleep(begun + number * PACE - time.perf_counter())
            before = gangs[name].size
            gangs[name].edit(size)
            acts.create_task(act(gangs[name], before))
        await _until_followed(gangs, news)
    followed = sorted(each for gang in gangs.values() for each in gang.followed)
    return {
        "p50": statistics.median(followed),
        "p99": followed[int(0.99 * len(followed))],
        "overtaken": sum(gang.overtaken for gang in gangs.values()),
        "sizes": {gang.name: gang.size for gang in gangs.values()},
    }


def _choose(names: list[str], size: int, edits: int) -> list[tuple[str, int]]:
    """Jobs in turns, and for each a size that it does not have."""
    dice, sizes, chosen = random.Random(7), dict.fromkeys(names, size), []
    for number in range(edits):
        name = names[number % len(names)]
        sizes[name] = dice.choice([each for each in range(1, MOST + 1) if each != sizes[name]])
        chosen.append((name, sizes[name]))
    return chosen


async def _until_followed(gangs: dict[str, Gang], news: asyncio.Event) -> None:
    """Raises AssertionError with the jobs whose pods are not those of their last edit."""
    try:
        async with asyncio.timeout(PATIENCE):
            while any(gang.asked for gang in gangs.values()):
                news.clear()
                await news.wait()
    except TimeoutError:
        late = [f"{gang.name} should have {gang.size} and has {gang.pods}" for gang in gangs.values() if gang.asked]
        raise AssertionError(f"not followed within {PATIENCE:g} s: {'; '.join(late)}") from None


@asynccontextmanager
async def _watching(client: Client, gangs: dict[str, Gang]) -> AsyncIterator[asyncio.Event]:
    """The gangs follow the pods that exist, from all that do now; set at each change. At the end all pods run."""
    news, synced = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as kubelets:
        watching = asyncio.create_task(_watch(client, gangs, news, synced, kubelets))
        try:
            await synced.wait()
            yield news
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def _watch(
    client: Client, gangs: dict[str, Gang], news: asyncio.Event, synced: asyncio.Event, kubelets: asyncio.TaskGroup
) -> None:
    number = 0
    async for event in client.follow(PODS, NAMESPACE):
        if event.type == "SYNCED":
            synced.set()
            continue
        labels, name = labels_of(event.object), name_of(event.object)
        gang = gangs[labels[JOB_LABEL]]
        if event.type == "DELETED":
            gang.pods.pop(name, None)
        else:
            gang.pods[name] = int(labels[ATTEMPT_LABEL])
        if event.type == "ADDED" and synced.is_set():
            number += 1
            kubelets.create_task(_start(client, name, number))
        gang.look()
        news.set()


async def _start(client: Client, pod: str, number: int) -> None:
    """As a kubelet that starts it at once. It may be gone again."""
    try:
        status = build_pod_status(number, "Running")
        await client.patch(PODS, NAMESPACE, pod, {"status": status}, subresource="status")
    except NotFound:
        pass


if __name__ == "__main__":
    run_verb({"edit": edit, "bare": bare})
