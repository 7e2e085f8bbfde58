"""Large jobs: decided beside the loop, created as long as they are wanted, and no burden to others."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from paddock.jobs.model import Settings, Status
from paddock.kube.meta import PODS, Resource
from paddock.operator.apply import FIRST_BATCH, MAX_CONCURRENT_WRITES
from paddock.operator.aside import MOST_OBJECTS, SMALL, Aside, TooManyObjects
from paddock.operator.informers import Children
from paddock.operator.observer import Observer
from paddock.operator.readings import Readings
from support.operator_seam import JOBS, Request, Seam, build_job, have_pods, open_cluster, running, settled
from support.waiting import until


@pytest.mark.parametrize(
    "what",
    ["suspended", pytest.param("deleted", marks=pytest.mark.slow), pytest.param("cancelled", marks=pytest.mark.slow)],
)
async def test_no_further_pod_is_made_of_a_job_that_is_over(tmp_path: Path, what: str) -> None:
    """It got all 600, and on a cluster that is minutes of pods over the quota that it gave back."""
    changes: dict[str, Any] = {
        "suspended": {"spec": {"runPolicy": {"suspend": True}}},
        "cancelled": {"metadata": {"annotations": {"paddock.dev/cancel": "by a test"}}},
    }
    async with open_cluster(tmp_path) as api:
        seam, done, made = Seam(api), asyncio.Event(), 0

        async def end(request: Request) -> None:
            nonlocal made
            if request[:2] != ("create", "pods"):
                return
            made += 1
            if made == FIRST_BATCH:
                await (api.patch(JOBS, "default", "demo", changes[what]) if what in changes
                       else api.delete(JOBS, "default", "demo"))  # fmt: skip
                done.set()
            elif made > FIRST_BATCH:
                await asyncio.sleep(0.05)  # a server under load

        seam.after = end
        async with running(seam, Settings()):
            await api.create(JOBS, build_job(ps=0, worker=600))
            await done.wait()
            await settled(seam, 2)
        assert FIRST_BATCH <= made <= FIRST_BATCH + 2 * MAX_CONCURRENT_WRITES


@pytest.mark.slow
async def test_a_job_that_is_decided_beside_the_loop_gets_all_its_pods(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api, running(api, Settings()):
        await api.create(JOBS, build_job(ps=0, worker=SMALL + 1))
        assert await until(lambda: have_pods(api, SMALL + 1))


@pytest.mark.slow
async def test_the_loop_turns_while_a_large_job_is_decided() -> None:
    turned = 0

    async def turn() -> None:
        nonlocal turned
        while True:
            turned += 1
            await asyncio.sleep(0)

    def decide() -> str:
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        return "decided"

    turning = asyncio.create_task(turn())
    assert await Aside().run(decide, small=False) == "decided"
    beside, turned = turned, 0
    assert await Aside().run(decide, small=True) == "decided"
    turning.cancel()
    assert beside > 1
    assert turned <= 1, "a small one is decided at once"


async def test_a_job_that_owns_too_many_objects_is_left_alone() -> None:
    """Anybody who may create pods may name a job as their owner."""

    class Crowded:
        def take(self, owner: Resource, key: object) -> Children:
            return Children(self, {PODS: [b"{}"] * (MOST_OBJECTS + 1)})  # type: ignore[arg-type]

    from paddock.jobs.apis.registry import KINDS
    from paddock.operator.job_state import JobRef, JobState

    job = KINDS[JOBS].read_job({**build_job(), "metadata": {"name": "demo", "namespace": "n", "uid": "u"}})
    observer = Observer(
        None, Settings(), Crowded(), None, Aside(), states={}, readings=Readings(lambda: 0.0),  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(TooManyObjects, match=f"{MOST_OBJECTS + 1} pods, Services and ConfigMaps name this job"):
        await observer.look(JobRef(JOBS, job.key), JobState(), job, Status())
