"""How often the operator asks for Datasets where the kind is not served, told on a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import pytest

from jobs.simulated.loop import VirtualLoop
from paddock.app.cluster_datasets import ClusterDatasets, read_nothing
from paddock.controllers.reflector import Reflector
from paddock.datasets.cluster import ClusterSupplier
from paddock.datasets.fetch_jobs import FetchPod
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import DATASETS, Resource
from paddock.operator.datasets import WatchedDatasets

HOUR = 3600.0
NOT_SERVED = NotFound("the server could not find the requested resource")


class Unserved(Api):
    """It counts how often it is asked, and refuses until `serves`."""

    def __init__(self, error: ApiError) -> None:
        self.asked = 0
        self.serves = False
        self._error = error

    async def send(self, call: Call[T]) -> T:
        raise self._error

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        self.asked += 1
        if not self.serves:
            raise self._error
        yield Event("SYNCED", {})
        await asyncio.Event().wait()


@contextmanager
def running(start: Callable[[], object]) -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    loop.call_soon(start)
    loop.drain()
    try:
        yield loop
    finally:
        loop.close()


def follow(watched: WatchedDatasets) -> Callable[[], object]:
    return lambda: asyncio.get_running_loop().create_task(watched.follow())


def count(loop: VirtualLoop, api: Unserved, seconds: float) -> int:
    before = api.asked
    loop.advance(seconds)
    return api.asked - before


@pytest.mark.parametrize("error", [NOT_SERVED, Forbidden("datasets is forbidden")])
def test_where_no_job_needs_it_it_asks_every_five_minutes(error: ApiError) -> None:
    api = Unserved(error)
    with running(follow(WatchedDatasets(api, ("",), lambda key: None))) as loop:
        assert count(loop, api, 60.0) <= 6
        loop.advance(HOUR)
        assert count(loop, api, HOUR) == 12


def test_while_a_job_needs_it_it_asks_soon() -> None:
    api = Unserved(NOT_SERVED)
    watched = WatchedDatasets(api, ("",), lambda key: None)
    with running(follow(watched)) as loop:
        loop.advance(HOUR)
        assert watched.unserved("team") == NOT_SERVED.message
        loop.advance(15.1)
        before = api.asked
        for _ in range(100):
            assert watched.unserved("team")
            loop.advance(3.0)
        assert 15 <= api.asked - before <= 21, "however often it is needed"
        api.serves = True
        assert watched.unserved("team"), "until it is tried again"
        loop.advance(15.1)
        assert watched.unserved("team") is None
        assert count(loop, api, HOUR) == 0


def test_an_operator_that_fetches_asks_every_five_minutes_too() -> None:
    api = Unserved(Forbidden("datasets is forbidden"))
    fetching = ClusterDatasets(api, ClusterSupplier(api, read_nothing, FetchPod("paddock:1")), ("",), look_seconds=60.0)
    with running(lambda: asyncio.get_running_loop().create_task(fetching.run())) as loop:
        loop.advance(HOUR)
        assert count(loop, api, HOUR) <= 12


def test_an_optional_kind_that_is_not_served_is_asked_for_every_five_minutes() -> None:
    api = Unserved(NOT_SERVED)
    reflector = Reflector(api, DATASETS, lambda event: None, optional=True)
    with running(lambda: asyncio.get_running_loop().create_task(reflector.run())) as loop:
        assert 3 <= count(loop, api, 60.0) <= 5
        loop.advance(HOUR)
        assert count(loop, api, HOUR) == 12
        reflector.on_definition_change()
        assert count(loop, api, 1.0) == 1
