"""An operator that has lost its Lease begins no request, wherever its passes stand; who leads next goes on."""

from __future__ import annotations

import asyncio
import logging

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import EVENTS, NAMESPACES, Manifest
from paddock.operator.election import Election, Term
from paddock.operator.shares import shard_of
from support.leaderships import Led, Shared
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    have_pods,
    pods_of,
    running,
    settled,
)
from support.waiting import rest, until

WORKERS = 40
SOME = 7
"""Creates of pods that begin before the Lease is lost: in the middle of a batch."""
ALL = WORKERS + 2


class Loss:
    """Takes the leadership away when `count` requests of this kind have begun. The requests that had begun by then are
    answered when `goes_on` is set."""

    def __init__(self, seam: Seam, lose: object, verb: str = "create", plural: str = "pods", count: int = SOME) -> None:
        self.lost, self.goes_on = asyncio.Event(), asyncio.Event()
        self.before = 0
        self._seam, self._lose, self._kind, self._count = seam, lose, (verb, plural), count
        seam.before = self._take

    async def _take(self, request: Request) -> None:
        if self.lost.is_set() or request[:2] != self._kind:
            return
        self._count -= 1
        if self._count == 0:
            self._lose()  # type: ignore[operator]
            self.before = len(self._seam.requests)
            self.lost.set()
            await self.goes_on.wait()

    @property
    def since(self) -> list[Request]:
        return self._seam.requests[self.before :]


def lose(led: Led) -> None:
    led.leads = False


@pytest.mark.parametrize(
    ("verb", "plural", "count"),
    [("create", "pods", SOME), ("patch", "paddlejobs/status", 1), ("get", "paddlejobs", 1), ("create", "events", 1)],
    ids=["among its pods", "at the record", "at a read", "at an event"],
)
@pytest.mark.parametrize("again", [pytest.param("in the same term", marks=pytest.mark.slow), "in another term"])
async def test_nothing_begins_after_the_lease_is_lost_until_it_leads_again(
    cluster: LocalApi, caplog: pytest.LogCaptureFixture, verb: str, plural: str, count: int, again: str
) -> None:
    seam, led, answers = Seam(cluster), Led(), Answers()
    loss, seam.answers = Loss(seam, lambda: lose(led), verb, plural, count), answers.take
    with caplog.at_level(logging.WARNING, "paddock"):
        async with running(seam, leadership=led):
            await cluster.create(JOBS, build_job(worker=WORKERS))
            await asyncio.wait_for(loss.lost.wait(), 60)
            loss.goes_on.set()
            await settled(seam)
            assert loss.since == []
            led.win(("first", 0) if again == "in the same term" else ("second", 2))
            await until(lambda: have_pods(cluster, ALL))
            await settled(seam)
    assert await answers.complaints(cluster) == [record.message for record in caplog.records] == []


class Answers:
    """What was recorded of jobs."""

    def __init__(self) -> None:
        self.recorded: list[str] = []

    def take(self, request: Request, answer: Manifest) -> Manifest:
        if request[1] == "paddlejobs/status":
            self.recorded.append(str(answer.get("status")))
        return answer

    async def complaints(self, cluster: LocalApi) -> list[str]:
        """What tells users of a lost Lease, which is no fault of their job."""
        events = (await cluster.list(EVENTS, "default")).items
        told = [event["message"] for event in events if event["type"] != "Normal"]
        return told + [each for each in self.recorded if "leads no more" in each]


async def test_a_pass_of_a_term_that_has_ended_begins_nothing_in_the_next_one(
    cluster: LocalApi, caplog: pytest.LogCaptureFixture
) -> None:
    """Another may have led between the two, and what this pass was decided on is old."""
    seam, led, answers = Seam(cluster), Led(), Answers()
    loss, seam.answers = Loss(seam, lambda: lose(led)), answers.take
    with caplog.at_level(logging.WARNING, "paddock"):
        async with running(seam, leadership=led):
            await cluster.create(JOBS, build_job(worker=WORKERS))
            await asyncio.wait_for(loss.lost.wait(), 60)
            await rest(lambda: len(seam.requests))
            led.win(("second", 2))
            await cluster.create(JOBS, build_job("other"))
            await until(lambda: have_pods(cluster, 4, "other"))
            before = len(seam.requests)
            loss.goes_on.set()
            await until(lambda: have_pods(cluster, ALL))
            await settled(seam)
        first = next(request for request in seam.requests[before:] if request[2].startswith("demo"))
        assert first == ("get", "paddlejobs", "demo"), "the next pass reads what there is"
    assert await answers.complaints(cluster) == [record.message for record in caplog.records] == []


async def test_what_was_not_begun_is_not_remembered_as_refused(cluster: LocalApi) -> None:
    """Creates that fail several times in a row are a cause, which is recorded."""
    seam, led = Seam(cluster), Led()
    loss = Loss(seam, lambda: lose(led))
    async with running(seam, leadership=led) as operator:
        await cluster.create(JOBS, build_job(worker=WORKERS))
        await asyncio.wait_for(loss.lost.wait(), 60)
        loss.goes_on.set()
        await settled(seam)
        (state,) = operator._controller._states.values()
        assert state.refused is None


async def test_a_process_that_was_stopped_begins_nothing_when_it_goes_on(cluster: LocalApi) -> None:
    """The clock that counts has gone on: the next request finds that the Lease has run out, before any renewal."""
    seam, now = Seam(cluster), [0.0]
    election = Election(cluster, "default", "us", clock=lambda: now[0])
    await election.read_lease()
    await election.acquire_or_renew()

    def stop() -> None:
        now[0] += 3600

    loss = Loss(seam, stop)
    async with running(seam, leadership=election):
        await cluster.create(JOBS, build_job(worker=WORKERS))
        await asyncio.wait_for(loss.lost.wait(), 60)
        loss.goes_on.set()
        await settled(seam)
        assert loss.since == []
        assert 0 < len(await pods_of(cluster)) < ALL


TEAMS = ("team-a", "team-c")
"""Of two shards the first has team-a, the second team-c."""


async def test_of_two_shards_the_one_that_is_lost_stops_alone(cluster: LocalApi) -> None:
    assert [shard_of(team, 2) for team in TEAMS] == [0, 1]
    for team in TEAMS:
        namespace: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}
        await cluster.create(NAMESPACES, namespace)
    seam, shared = Seam(cluster), Shared()
    term: Term = ("first", 0)
    shared.terms |= {0: term, 1: term}
    loss = Loss(seam, lambda: shared.terms.pop(0))
    async with running(seam, leadership=shared):
        await cluster.create(JOBS, build_job(worker=WORKERS, namespace=TEAMS[0]))
        await asyncio.wait_for(loss.lost.wait(), 60)
        loss.goes_on.set()
        await cluster.create(JOBS, build_job(worker=WORKERS, namespace=TEAMS[1]))
        await until(lambda: have_pods(cluster, ALL, namespace=TEAMS[1]))
        await settled(seam)
        assert len(await pods_of(cluster, namespace=TEAMS[0])) < ALL
        shared.win(0, term)
        await until(lambda: have_pods(cluster, ALL, namespace=TEAMS[0]))
