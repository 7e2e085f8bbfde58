"""`paddock run` prints what Kueue says of a job that it follows, and each sentence once."""

from __future__ import annotations

import asyncio
from typing import Any

from cli.views import RESOURCE, build_manifest
from paddock.cli.follow.queue_waits import QueueWaits
from paddock.jobs.model import CauseRecord
from paddock.kube.calls import Call, T
from submission.test_admissions import CAUSE, SAID, Cluster
from support.waiting import until


class Screen:
    language = "en"

    def __init__(self) -> None:
        self.told: list[str] = []

    def notify(self, said: str) -> None:
        self.told.append(said)


class Counted(Cluster):
    """Counts the looks."""

    looks = 0

    async def send(self, call: Call[T]) -> T:
        self.looks += call.verb == "list"
        return await super().send(call)


async def test_what_kueue_says_is_printed_once_and_again_after_another_wait() -> None:
    cluster, screen, job = Counted("v1beta2"), Screen(), build_manifest()
    told: Any = screen
    waits = QueueWaits(cluster, RESOURCE, told, look_seconds=0)
    following = asyncio.create_task(waits.follow())
    try:
        waits.note(job, CAUSE)
        await until(lambda: _is_true(cluster.looks >= 3))
        assert screen.told == [SAID]
        waits.note(job, CauseRecord("Resumed"))
        await asyncio.sleep(0)
        waits.note(job, CAUSE)
        await until(lambda: _is_true(len(screen.told) == 2))
        assert screen.told == [SAID, SAID]
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _is_true(value: bool) -> bool:
    return value


async def test_nothing_is_asked_while_the_job_waits_for_something_else() -> None:
    cluster = Counted("v1beta2")
    told: Any = Screen()
    waits = QueueWaits(cluster, RESOURCE, told, look_seconds=0)
    following = asyncio.create_task(waits.follow())
    waits.note(build_manifest(), CauseRecord("WaitingForPods"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not cluster.looks
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
