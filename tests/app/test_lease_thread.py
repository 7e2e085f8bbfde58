"""The thread beside the loop that reconciles: the Lease is renewed and probes are answered while that loop computes,
and no longer once it is dead. The tests compute by standing still: nothing of them runs in that loop meanwhile."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from paddock.app.cluster import DEAD_SECONDS, ClusterOperator, Options
from paddock.app.health import Address
from paddock.controllers.heartbeat import Heartbeat
from paddock.controllers.loop_thread import LoopThread
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Delete, Get, List, Listing, T
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import Manifest, labels_of, version_of
from paddock.operator.election import RENEW_DEADLINE
from paddock.operator.metrics import Prometheus, Renewal
from support.operator_seam import open_cluster
from support.waiting import until

FREE = Address("127.0.0.1", 0)


class Leases(Api):
    """The Leases of a server, for one thread at a time. `told` is notified of each write and each attempt that failed;
    `written` has who held what after each write."""

    def __init__(self) -> None:
        self.there: dict[str, Manifest] = {}
        self.written: list[tuple[str, str]] = []
        self.threads: set[str] = set()
        self.failed = 0
        self.told = threading.Condition()

    async def send(self, call: Call[T]) -> T:
        self.threads.add(threading.current_thread().name)
        answer: Any = self._answer(call)
        return answer  # type: ignore[no-any-return]

    def _answer(self, call: Call[Any]) -> Manifest | Listing | None:
        match call:
            case List(labels=labels):
                key, _, value = labels.partition("=")
                return Listing([each for each in self.there.values() if labels_of(each).get(key) == value], "1")
            case Get(name=name):
                return self._find(name)
            case Delete(name=name):
                self._find(name)
                del self.there[name]
                return None
        return self._write(call.name, call.manifest)  # type: ignore[attr-defined]

    def _find(self, name: str) -> Manifest:
        if name not in self.there:
            raise NotFound(name)
        return self.there[name]

    def _write(self, name: str, lease: Manifest) -> Manifest:
        if version_of(lease) != (version_of(self.there[name]) if name in self.there else ""):
            raise Conflict(name)
        with self.told:
            self.written.append((name, lease["spec"].get("holderIdentity", "")))
            metadata = {**lease["metadata"], "resourceVersion": str(len(self.written)), "uid": name}
            self.there[name] = {**lease, "metadata": metadata}
            self.told.notify_all()
        return self.there[name]

    def fail(self) -> None:
        with self.told:
            self.failed += 1
            self.told.notify_all()

    def stand_still_until(self, look: Callable[[], bool]) -> None:
        with self.told:
            assert self.told.wait_for(look, 120)

    def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        raise AssertionError("no Lease is followed")


class Told(Prometheus):
    """Tells the server of this test of attempts that never came to it."""

    def __init__(self, leases: Leases) -> None:
        super().__init__("1")
        self._leases = leases

    def renewed(self, result: Renewal) -> None:
        super().renewed(result)
        if result == "error":
            self._leases.fail()


@asynccontextmanager
async def leading(
    directory: Path, leases: Leases, heartbeat: Heartbeat | None = None, shards: int = 1
) -> AsyncIterator[ClusterOperator]:
    """An operator that leads; at the end it is stopped in order."""
    options = Options("ops", leader_elect=True, shards=shards, metrics=FREE, probes=FREE)
    async with open_cluster(directory) as api, LoopThread("lease") as thread:
        cluster = ClusterOperator(api, leases, options, Told(leases), thread=thread, heartbeat=heartbeat)
        stop = asyncio.Event()
        running = asyncio.create_task(cluster.run(stop))
        await until(
            lambda: cluster.operator.ready.is_set() and cluster.election and len(cluster.election.terms) == shards
        )
        yield cluster
        stop.set()
        await asyncio.wait_for(running, 60)


def ask(cluster: ClusterOperator, path: str) -> tuple[int, str]:
    """In this thread, so the loop stands still until the answer."""
    address = cluster.endpoints.addresses[path]
    connection = http.client.HTTPConnection(str(address.host), address.port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def read(metrics: str, name: str) -> float:
    (line,) = [each for each in metrics.splitlines() if each.startswith(f"{name} ")]
    return float(line.split()[1])


@pytest.mark.parametrize("shards", [1, 2])
async def test_the_lease_is_held_and_probes_are_answered_while_the_loop_computes(tmp_path: Path, shards: int) -> None:
    leases = Leases()
    async with leading(tmp_path, leases, shards=shards) as cluster:
        assert cluster.election is not None
        term = cluster.election.terms
        fresh = await asyncio.to_thread(ask, cluster, "/metrics")
        assert read(fresh[1], "paddock_loop_age_seconds") < RENEW_DEADLINE
        writes = len(leases.written)
        # Two seconds are between two renewals of one Lease: this is longer than a Lease lives.
        leases.stand_still_until(lambda: len(leases.written) >= writes + 3 * (shards + (shards > 1)))
        assert cluster.election.terms == term
        assert ask(cluster, "/healthz") == (200, "ok\n")
        assert ask(cluster, "/readyz") == (200, "ok\n")
        status, metrics = ask(cluster, "/metrics")
        assert (status, read(metrics, "paddock_leader")) == (200, 1.0)
        assert read(metrics, "paddock_loop_age_seconds") > RENEW_DEADLINE
    assert leases.threads == {"lease"}
    assert [lease["spec"].get("holderIdentity") for lease in leases.there.values()] == [None] * shards, "given back"


async def test_an_operator_whose_loop_is_dead_is_not_alive_and_leaves_its_lease_to_others(tmp_path: Path) -> None:
    leases, now = Leases(), [0.0]
    async with leading(tmp_path, leases, Heartbeat(lambda: now[0])) as cluster:
        election = cluster.election
        assert election is not None
        await until(lambda: ask(cluster, "/healthz")[0] == 200)
        now[0] += DEAD_SECONDS + 1
        failed = leases.failed
        assert ask(cluster, "/healthz") == (503, f"the event loop has not turned for {DEAD_SECONDS + 1:.0f} s\n")
        leases.stand_still_until(lambda: leases.failed > failed)
        writes = len(leases.written)
        leases.stand_still_until(lambda: not election.terms)
        assert len(leases.written) == writes, "nothing was renewed"
        # It was slow, after all.
        await until(lambda: election.terms)
        assert ask(cluster, "/healthz") == (200, "ok\n")


async def test_a_term_that_is_won_in_the_thread_wakes_who_waits_in_the_loop(tmp_path: Path) -> None:
    leases = Leases()
    async with leading(tmp_path, leases) as cluster:
        leadership = cluster.operator._leadership
        known = {0: ("another", 0)}
        await asyncio.wait_for(leadership.wait(known), 60)
        assert leadership.terms != known
        waiting = asyncio.create_task(leadership.wait(dict(leadership.terms)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
