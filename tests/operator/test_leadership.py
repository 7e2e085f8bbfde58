"""What an operator does when it becomes the leader, and when it stays the leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from support.operator_seam import JOBS, Seam, build_job, have_pods, open_cluster, running, until


class Led:
    """A leadership that the test controls. `term`: as in `operator.election.Leadership`."""

    def __init__(self) -> None:
        self.leads = True
        self.term: tuple[str, int] | None = ("first", 0)
        self.asked = asyncio.Event()
        self._won = asyncio.Event()

    async def wait(self) -> None:
        self.asked.set()
        while not self.leads:
            self._won.clear()
            await self._won.wait()

    def win(self, term: tuple[str, int]) -> None:
        self.term, self.leads = term, True
        self._won.set()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        yield api


@pytest.mark.parametrize(
    ("term", "again"),
    [(("first", 0), False), (("second", 2), True)],
    ids=["nobody has led meanwhile", "another may have led"],
)
async def test_all_jobs_are_reconciled_if_another_may_have_led(
    cluster: LocalApi, term: tuple[str, int], again: bool
) -> None:
    """A leader that lost its connection for a moment would otherwise read every job of a fleet."""
    seam, led = Seam(cluster), Led()
    async with running(seam, leadership=led):
        await cluster.create(JOBS, build_job("old"))
        await until(lambda: have_pods(cluster, 4, "old"))
        await until(lambda: _rests(seam))
        seam.requests.clear()
        led.leads = False
        await cluster.create(JOBS, build_job("new"))
        await asyncio.wait_for(led.asked.wait(), 60)
        led.win(term)
        await until(lambda: have_pods(cluster, 4, "new"))
        await until(lambda: _rests(seam))
    about_old = [request for request in seam.requests if request[2].startswith("old") and request[1] != "events"]
    assert bool(about_old) is again, about_old


async def _rests(seam: Seam) -> bool:
    before = len(seam.requests)
    await asyncio.sleep(0.3)
    return len(seam.requests) == before
