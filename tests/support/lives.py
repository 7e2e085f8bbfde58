"""Whole lives of jobs, from their creation until nothing is left to do, and what must be true at the end of each.

A life is a manifest, how its programs end, and what its user does meanwhile; the pods are walked by `fake_kubelet`. The
same life, undisturbed and with faults, must come to the same `End`. Its clock is set forward over backoffs, so that no
test waits for them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from paddock.jobs.labels import ATTEMPT_LABEL
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES, Manifest, labels_of, name_of
from support.fake_kubelet import Ends, Kubelet, walking
from support.operator_seam import JOBS, build_job, status_of
from support.waiting import until

_LIFE_SECONDS = 180.0
_TTL = 3600


@dataclass(frozen=True, slots=True)
class End:
    """The end of a life. `made`: the number of pods by name of the rank and attempt; `left`: the remaining objects."""

    phase: str
    attempt: int
    restarts: int
    made: dict[tuple[str, str], int]
    left: frozenset[str]
    doubles: tuple[str, ...] = ()


class Clock:
    """Real time, set forward or back by a test. Seconds since the epoch."""

    def __init__(self) -> None:
        self.offset = 0.0

    def __call__(self) -> float:
        return time.time() + self.offset


@dataclass(slots=True)
class Scene:
    """One job, and what a user can do with it."""

    api: Api
    namespace: str
    name: str
    clock: Clock = field(default_factory=Clock)

    async def status(self) -> Manifest:
        """The status; empty if the job is gone or the server does not answer."""
        try:
            return await status_of(self.api, self.name, self.namespace)
        except ApiError:
            return {}

    async def phase(self, phase: str) -> Manifest:
        """Wait for this phase; the status."""
        found: Manifest = await until(lambda: self._in(phase), _LIFE_SECONDS)
        return found

    async def _in(self, phase: str) -> Manifest | None:
        status = await self.status()
        return status if status.get("phase") == phase else None

    async def patch(self, patch: Manifest) -> None:
        """Patches the job, if it is still there; retries until the server accepts it."""

        async def patched() -> bool:
            try:
                await self.api.patch(JOBS, self.namespace, self.name, patch)
            except NotFound:
                return True  # the operator was faster: a job that is gone needs no news
            except ApiError:
                return False
            return True

        await until(patched, _LIFE_SECONDS)

    async def objects(self) -> frozenset[str]:
        """The objects with the job's name, without the job and its events; ConfigMaps by their attempt."""
        found = [
            f"{resource.kind} {labels_of(each).get(ATTEMPT_LABEL) if resource == CONFIG_MAPS else name_of(each)}"
            for resource in (PODS, SERVICES, CONFIG_MAPS)
            for each in (await self.api.list(resource, self.namespace)).items
            if f"{name_of(each)}-".startswith(f"{self.name}-")
        ]
        return frozenset(found)

    async def is_gone(self) -> bool:
        try:
            await self.api.get(JOBS, self.namespace, self.name)
        except NotFound:
            return not await self.objects()
        return False

    async def pods_are_gone(self) -> bool:
        return not any(each.startswith(("Pod", "Service")) for each in await self.objects())


async def _completes(scene: Scene) -> None:
    await scene.phase("Completed")
    await until(scene.pods_are_gone, _LIFE_SECONDS)


async def _is_suspended_and_resumed(scene: Scene) -> None:
    await scene.phase("Running")
    await scene.patch({"spec": {"runPolicy": {"suspend": True}}})
    await scene.phase("Suspended")
    await until(scene.pods_are_gone, _LIFE_SECONDS)
    await scene.patch({"spec": {"runPolicy": {"suspend": False}}})
    await _completes(scene)


async def _goes_by_itself(scene: Scene) -> None:
    await _completes(scene)
    scene.clock.offset += _TTL
    await scene.patch({"metadata": {"annotations": {"time": "went by"}}})
    await until(scene.is_gone, _LIFE_SECONDS)


@dataclass(frozen=True, slots=True)
class Life:
    """`spec` is merged into the job's; `user` returns when the life is over.

    `stays`: whether the life stays in this phase (Pending or Restarting) for now, as its user has to see it there.
    """

    ends: Ends
    user: Callable[[Scene], Awaitable[None]] = _completes
    spec: dict[str, Any] = field(default_factory=dict)
    ps: int = 1
    worker: int = 1
    stays: Callable[[str], bool] = lambda phase: False

    def build(self, name: str, namespace: str) -> Manifest:
        job = build_job(name, ps=self.ps, worker=self.worker, namespace=namespace, **self.spec)
        for role in ("ps", "worker"):
            job["spec"][role]["template"]["spec"]["restartPolicy"] = "OnFailure"
        return job


def _worker_ends(*codes: int | None) -> Ends:
    """Exit code of the workers of attempt 0, 1, …; parameter servers run on."""
    return lambda attempt, role, index: codes[min(attempt, len(codes) - 1)] if role == "worker" else None


FAILED_ONCE = Life(_worker_ends(3, 0), spec={"runPolicy": {"backoffLimit": 2}})
SUSPENDED = Life(_worker_ends(None, 0), _is_suspended_and_resumed)
EXPIRED = Life(_worker_ends(0), _goes_by_itself, {"runPolicy": {"ttlSecondsAfterFinished": _TTL}})

LIVES = {"failed once": FAILED_ONCE, "suspended and resumed": SUSPENDED, "gone after its time": EXPIRED}


async def live(life: Life, scene: Scene) -> End:
    """Runs a life from creation to the end; the caller runs the operator. Raises `TimeoutError` if it hangs."""
    kubelets = walking(
        scene.api, scene.namespace, life.ends, life.ps + life.worker, starts=lambda: not life.stays("Pending")
    )
    async with kubelets as kubelet, _time(scene, life):
        await scene.api.create(JOBS, life.build(scene.name, scene.namespace))
        await life.user(scene)
        status = await scene.status()
        return End(
            phase=str(status.get("phase", "")),
            attempt=int(status.get("attempt", 0)),
            restarts=int(status.get("restarts", 0)),
            made=_count(kubelet),
            left=await scene.objects(),
            doubles=tuple(kubelet.doubles),
        )


def _count(kubelet: Kubelet) -> dict[tuple[str, str], int]:
    """Counts by the rank's name without the job's, so ends of several lives are comparable."""
    return dict(
        Counter((name_of(pod).partition("-")[2], labels_of(pod)[ATTEMPT_LABEL]) for pod in kubelet.made.values())
    )


@asynccontextmanager
async def _time(scene: Scene, life: Life) -> AsyncIterator[None]:
    """Sets the clock forward over back-offs."""
    task = asyncio.create_task(_pass_backoffs(scene, life))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _pass_backoffs(scene: Scene, life: Life) -> None:
    passed = 0
    while True:
        status = await scene.status()
        delayed = status.get("phase") == "Restarting" and status["cause"].get("args", {}).get("delay")
        if delayed and status["attempt"] > passed and not life.stays("Restarting"):
            passed = status["attempt"]
            scene.clock.offset += delayed
            await scene.patch({"metadata": {"annotations": {"time": f"went by {passed}"}}})
        await asyncio.sleep(0.02)
