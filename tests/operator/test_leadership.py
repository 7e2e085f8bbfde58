"""What an operator does when it becomes the leader, and when it stays the leader."""

from __future__ import annotations

import asyncio

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import NAMESPACES
from paddock.operator.election import Term
from paddock.operator.metrics import Prometheus
from paddock.operator.shares import shard_of
from support.leaderships import Led, Shared
from support.operator_seam import JOBS, Seam, build_job, have_pods, pods_of, running, settled
from support.waiting import until


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
        await settled(seam)
        seam.requests.clear()
        led.leads = False
        await cluster.create(JOBS, build_job("new"))
        await asyncio.wait_for(led.asked.wait(), 60)
        led.win(term)
        await until(lambda: have_pods(cluster, 4, "new"))
        await settled(seam)
    about_old = [request for request in seam.requests if request[2].startswith("old") and request[1] != "events"]
    assert bool(about_old) is again, about_old


TEAMS = ("team-a", "team-c")
"""Of two shards the first has team-a, the second team-c."""


@pytest.fixture
async def teams(cluster: LocalApi) -> LocalApi:
    assert [shard_of(team, 2) for team in TEAMS] == [0, 1]
    for team in TEAMS:
        await cluster.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
        await cluster.create(JOBS, build_job("old", namespace=team))
    return cluster


async def test_the_jobs_of_a_shard_are_begun_when_it_is_gained_and_those_of_others_are_not(teams: LocalApi) -> None:
    seam, shared, measures = Seam(teams), Shared(), Prometheus("1")
    async with running(seam, leadership=shared, measures=measures):
        await settled(seam)
        assert seam.requests == []
        assert _read_led(measures) == (0, 0, 2)
        shared.win(0, ("first", 0))
        await until(lambda: have_pods(teams, 4, "old", "team-a"))
        for team in TEAMS:
            await teams.create(JOBS, build_job("new", namespace=team))
        await until(lambda: have_pods(teams, 4, "new", "team-a"))
        await settled(seam)
        assert await pods_of(teams, "old", "team-c") == await pods_of(teams, "new", "team-c") == {}
        assert _read_led(measures) == (1, 1, 2)
        shared.win(1, ("first", 0))
        for name in ("old", "new"):
            await until(lambda name=name: have_pods(teams, 4, name, "team-c"))
        assert _read_led(measures) == (1, 2, 2)


@pytest.mark.parametrize(
    ("term", "read"),
    [(("first", 0), False), (("second", 2), True)],
    ids=["nobody has led it meanwhile", "another may have led it"],
)
async def test_a_shard_that_is_led_again_is_doubted_if_another_may_have_led_it(
    teams: LocalApi, term: Term, read: bool
) -> None:
    """What happened there meanwhile is made up for in either case, and what rests is read in one alone. The jobs of the
    shard that was led all the time are not touched."""
    seam, shared = Seam(teams), Shared()
    shared.terms = {0: ("first", 0), 1: ("first", 0)}
    async with running(seam, leadership=shared):
        for team in TEAMS:
            await until(lambda team=team: have_pods(teams, 4, "old", team))
        await settled(seam)
        del shared.terms[1]
        await teams.create(JOBS, build_job("new", namespace="team-c"))
        await settled(seam)
        seam.requests.clear()
        shared.win(1, term)
        await until(lambda: have_pods(teams, 4, "new", "team-c"))
        await settled(seam)
    about_old = [request for request in seam.requests if request == ("get", "paddlejobs", "old")]
    assert len(about_old) == (1 if read else 0)


def _read_led(measures: Prometheus) -> tuple[float, ...]:
    text = measures.scrape()[0].decode()
    return tuple(
        float(line.split()[1])
        for name in ("paddock_leader ", "paddock_shards_led ", "paddock_shards ")
        for line in text.splitlines()
        if line.startswith(name)
    )
