"""The times of leader election, told on a virtual clock: renewals, failover, and what they cost the API."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jobs.simulated.loop import VirtualLoop
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Get, Replace, T
from paddock.kube.errors import AlreadyExists, Conflict, NotFound
from paddock.kube.meta import Manifest, version_of
from paddock.operator.election import LEASE_DURATION, RETRY_PERIOD, Election
from paddock.operator.metrics import Measures, Renewal

FAILOVER = 5.0
"""Seconds after a leader's death in which another leads."""
LATENCY = 0.05
MANUAL = Path(__file__).resolve().parents[2] / "docs" / "operator.md"


class Server:
    """One Lease."""

    def __init__(self) -> None:
        self.lease: Manifest | None = None
        self.version = 0

    def read(self, name: str) -> Manifest:
        if self.lease is None:
            raise NotFound(name)
        return self.lease

    def write(self, manifest: Manifest) -> Manifest:
        given = version_of(manifest)
        if given and given != str(self.version):
            raise Conflict("somebody was faster")
        if not given and self.lease is not None:
            raise AlreadyExists("somebody was faster")
        self.version += 1
        self.lease = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self.version)}}
        return self.lease


class Line(Api):
    """One process's way to the server. `latency`: seconds until the server hears, and as many until its answer."""

    def __init__(self, server: Server) -> None:
        self.latency = LATENCY
        self.asked: Counter[str] = Counter()
        self._server = server

    async def send(self, call: Call[T]) -> T:
        self.asked[call.verb] += 1
        await asyncio.sleep(self.latency)
        assert isinstance(call, Get | Create | Replace)
        answer: Any = self._server.read(call.name) if isinstance(call, Get) else self._server.write(call.manifest)
        await asyncio.sleep(self.latency)
        return answer  # type: ignore[no-any-return]

    def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        raise AssertionError("an election follows nothing")


class Renewals(Measures):
    def __init__(self) -> None:
        self.results: Counter[Renewal] = Counter()

    def renewed(self, result: Renewal) -> None:
        self.results[result] += 1


class Process:
    """`offset`: what its clock is ahead; `wall`: what it says the date is."""

    def __init__(self, loop: VirtualLoop, server: Server, name: str, offset: float, wall: float) -> None:
        self.line, self.renewals = Line(server), Renewals()
        self.election = Election(
            self.line,
            "ns",
            name,
            clock=lambda: loop.time() + offset,
            wall_clock=lambda: wall + loop.time(),
            measures=self.renewals,
        )
        self._task = loop.create_task(self.election.run())

    def kill(self) -> None:
        self._task.cancel()


class Cluster:
    """Operators that start one after the other; the first leads."""

    def __init__(self, loop: VirtualLoop, *clocks: tuple[float, float]) -> None:
        self.loop, self.server = loop, Server()
        self.processes: list[Process] = []
        for number, (offset, wall) in enumerate(clocks):
            self.processes.append(Process(loop, self.server, f"operator-{number}", offset, wall))
            loop.advance(1.0)

    @property
    def leaders(self) -> list[int]:
        return [number for number, process in enumerate(self.processes) if process.election.leads]

    def seconds_until(self, happens: Callable[[], object], most: float = 60.0) -> float:
        """Two may never lead meanwhile."""
        start = self.loop.time()
        while not happens():
            assert len(self.leaders) < 2
            self.loop.advance(0.01)
            assert self.loop.time() < start + most, "it does not happen"
        return self.loop.time() - start


SAME = ((0.0, 1.7e9), (0.0, 1.7e9), (0.0, 1.7e9))
YEARS_APART = ((0.0, 1.7e9), (1e6, 1.2e9), (-1e6, 2.3e9))


@contextmanager
def running(*clocks: tuple[float, float]) -> Iterator[Cluster]:
    loop = VirtualLoop()
    try:
        yield Cluster(loop, *clocks)
    finally:
        loop.close()


def test_an_idle_leader_writes_every_two_seconds_and_a_standby_reads_twice_a_second() -> None:
    """In docs/operator.md, for who counts requests."""
    with running(*SAME[:2]) as cluster:
        before = [Counter(process.line.asked) for process in cluster.processes]
        cluster.loop.advance(60.0)
        leader, standby = (process.line.asked - asked for process, asked in zip(cluster.processes, before, strict=True))
        assert cluster.leaders == [0]
    assert leader == {"update": 30}
    assert set(standby) == {"get"}
    assert 95 <= standby["get"] <= 120
    assert "30 writes a minute" in MANUAL.read_text()
    assert "at most 120 reads a minute" in MANUAL.read_text()


@pytest.mark.parametrize("clocks", [SAME, YEARS_APART], ids=["one clock", "clocks that are years apart"])
@pytest.mark.parametrize("tenths", range(0, 21, 2))
def test_another_leads_five_seconds_after_a_leaders_death_at_most(
    clocks: tuple[tuple[float, float], ...], tenths: int
) -> None:
    """Whenever it dies between two renewals."""
    with running(*clocks) as cluster:
        cluster.loop.advance(20.0 + tenths / 10)
        assert cluster.leaders == [0]
        cluster.processes[0].kill()
        seconds = cluster.seconds_until(lambda: cluster.leaders not in ([], [0]))
        assert seconds <= FAILOVER
        cluster.loop.advance(20.0)
        assert len(cluster.leaders) == 1, "and stays"


def test_a_leader_outlives_a_renewal_that_is_answered_late() -> None:
    """It stops before another may lead, and then goes on in its term, if nobody has."""
    with running(*SAME[:2]) as cluster:
        first = cluster.processes[0]
        term = first.election.term
        for latency, leads in ((0.45, True), (LATENCY, True), (9.0, False), (LATENCY, True)):
            first.line.latency = latency
            cluster.processes[1].line.latency = 60.0  # it hears nothing, so does not follow
            cluster.loop.advance(10.0)
            assert first.election.leads is leads, latency
        assert first.election.term == term
        assert first.renewals.results["error"] > 0


def test_a_single_lost_answer_ends_no_term() -> None:
    with running(*SAME[:2]) as cluster:
        first = cluster.processes[0]
        for _ in range(20):
            renewed = first.renewals.results["ok"]
            cluster.seconds_until(lambda count=renewed: first.renewals.results["ok"] > count)
            first.line.latency = 60.0
            failures = first.renewals.results["error"]
            cluster.seconds_until(lambda count=failures: first.renewals.results["error"] > count)
            first.line.latency = LATENCY
            cluster.loop.advance(0.5)
            assert cluster.leaders == [0]


def test_a_standby_that_looked_just_before_the_last_renewal_is_in_time() -> None:
    assert LEASE_DURATION + RETRY_PERIOD < FAILOVER
