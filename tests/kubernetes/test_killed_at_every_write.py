"""The operator is killed at every write that it makes, and the next one brings the job to the same end.

A run without faults records the writes; then there is one run for each write, with the operator killed at it: before
the server gets the request, or after it has executed it and before the answer. A process cannot tell these apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from paddock.jobs.model import Settings
from paddock.kube.api import Api
from paddock.kube.errors import Unavailable
from paddock.operator.operator import Operator
from paddock.operator.readings import Readings
from support.lives import LIVES, End, Life, Scene, live
from support.operator_seam import Request, Seam
from support.worlds import World, create_namespace, remove_namespace

# Lives are given three minutes on a busy machine, some more than once.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_LANES = 10
"""Lives at once, each in a namespace of its own."""

_WRITES = frozenset({"create", "patch", "delete", "replace"})

Target = tuple[Request, int]
"""The second time that this is written, or the first. Names are without the job's; events have none."""


class Death:
    """Kills the operator at one write. `late`: after the server has executed it. Without a target, never."""

    def __init__(self, target: Target | None, *, late: bool) -> None:
        self.writes: list[Target] = []
        self.struck = asyncio.Event()
        self.buried = asyncio.Event()
        self._target = target
        self._late = late
        self._last: Request | None = None

    async def before(self, request: Request) -> None:
        if self.struck.is_set():
            await self._die()
        if request[0] not in _WRITES:
            return
        write = _without_job(request)
        self.writes.append((write, 1 + sum(write == before for before, _ in self.writes)))
        if self.writes[-1] == self._target:
            self._last = request
            if not self._late:
                await self._die()

    async def after(self, request: Request) -> None:
        if request is self._last:
            await self._die()

    async def _die(self) -> None:
        """A dead operator sends no more requests."""
        self.struck.set()
        await self.buried.wait()
        raise Unavailable("this operator is dead")


def _without_job(request: Request) -> Request:
    verb, plural, name = request
    # The name of a ConfigMap has a hash of the job's UID before its attempt.
    rank = name.rpartition("-")[2] if plural == "configmaps" else name.partition("-")[2]
    return verb, plural, "" if plural == "events" else rank


@asynccontextmanager
async def _operated(scene: Scene, death: Death) -> AsyncIterator[None]:
    """An operator until it is killed; then another."""
    task = asyncio.create_task(_operate(scene, death))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _operate(scene: Scene, death: Death) -> None:
    seam = Seam(scene.api, scene.namespace)
    seam.before, seam.after = death.before, death.after
    first = asyncio.create_task(Operator(seam, Settings(status_wait=0.2), readings=Readings(scene.clock)).run())
    try:
        await death.struck.wait()
    finally:
        death.buried.set()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    await Operator(Seam(scene.api, scene.namespace), Settings(status_wait=0.2), readings=Readings(scene.clock)).run()


@dataclass(frozen=True, slots=True)
class Run:
    """One life, with its operator killed at `target`. `end` is a sentence if the life hung."""

    target: Target | None
    end: End | str
    writes: tuple[Target, ...]
    killed: bool

    def __str__(self) -> str:
        return f"{_describe(self.target)}: {self.end}"


def _describe(target: Target | None) -> str:
    return "undisturbed" if target is None else f"{' '.join(target[0]).strip()} #{target[1]}"


async def _run(life: Life, api: Api, namespace: str, serial: int, target: Target | None, *, late: bool) -> Run:
    scene, death = Scene(api, namespace, f"job{serial}"), Death(target, late=late)
    async with _operated(scene, death):
        try:
            end: End | str = await live(life, scene)
        except TimeoutError:
            end = f"hangs; status {await scene.status()}, there are {sorted(await scene.objects())}"
    if isinstance(end, End):
        end = replace(end, left=frozenset(each.replace(scene.name, "JOB") for each in end.left))
    return Run(target, end, tuple(death.writes), death.struck.is_set())


async def _kill_at_each(life: Life, api: Api, targets: tuple[Target, ...], *, late: bool) -> list[Run]:
    runs: list[Run] = []
    ahead = enumerate(targets, 1)

    async def run_lane(namespace: str) -> None:
        for serial, target in ahead:  # shared: each target is one lane's
            runs.append(await _run(life, api, namespace, serial, target, late=late))

    namespaces = [await create_namespace(api) for _ in range(_LANES)]
    await asyncio.gather(*map(run_lane, namespaces))
    for namespace in namespaces:
        await remove_namespace(api, namespace)
    return runs


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
async def test_whenever_the_operator_is_killed_the_job_comes_to_the_same_end(
    world: World, life: Life, late: bool
) -> None:
    undisturbed = await _run(life, world.api, world.namespace, 0, None, late=late)
    assert isinstance(undisturbed.end, End), undisturbed
    assert not undisturbed.end.doubles
    assert set(undisturbed.end.made.values()) == {1}  # no pod twice for one attempt
    runs = await _kill_at_each(life, world.api, undisturbed.writes, late=late)
    listed = "\n".join(map(_describe, undisturbed.writes))
    wrong = [str(run) for run in runs if run.end != undisturbed.end]
    assert not wrong, f"undisturbed: {undisturbed.end} by\n{listed}\nbut killed at\n" + "\n".join(wrong)
    unreached = [_describe(run.target) for run in runs if not run.killed and not _may_merge(run.target)]
    assert not unreached, f"never came to {unreached} of\n{listed}"


def _may_merge(target: Target | None) -> bool:
    """Two things that are seen at once are one write of the status, and of its event; and a kubelet may be told twice,
    where the watch is late to say that it was told, or not at all, where the pod goes first (`policies.wake`)."""
    if target is None or target[0][:2] == ("patch", "pods"):
        return target is not None
    return target[1] > 1 and target[0][1] in ("paddlejobs/status", "events", "pods")
