"""Who has thousands of Datasets waits for their own requests, and nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from paddock.datasets.request_shares import AT_ONCE, OF_ONE, SharedRequests
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, Resource


class Slow(Api):
    """It answers when the test lets it, and knows nothing. `there`: by namespace, the requests on their way."""

    def __init__(self) -> None:
        self.there: list[str] = []
        self.most = 0
        self.open = asyncio.Event()

    async def send(self, call: Call[T]) -> T:
        await self.hold(call.namespace)
        raise NotFound("nothing is here")

    async def hold(self, namespace: str) -> None:
        self.there.append(namespace)
        self.most = max(self.most, len(self.there))
        try:
            await self.open.wait()
        finally:
            self.there.remove(namespace)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        raise NotImplementedError


async def turns() -> None:
    """All that can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def ask(api: Api, namespace: str) -> None:
    with pytest.raises(NotFound):
        await api.get(CLAIMS, namespace, "x")


async def test_of_a_namespace_few_requests_are_on_their_way_and_those_of_others_go_at_once() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(ask(shared, "many")) for _ in range(4000)]
    await turns()
    assert slow.there == ["many"] * OF_ONE
    asking.append(asyncio.create_task(ask(shared, "few")))
    await turns()
    assert slow.there.count("few") == 1
    slow.open.set()
    await asyncio.gather(*asking)
    assert slow.most == OF_ONE + 1


async def test_many_namespaces_take_turns() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(ask(shared, f"n{number % 50}")) for number in range(1000)]
    await turns()
    assert len(slow.there) == AT_ONCE
    slow.open.set()
    await asyncio.gather(*asking)
    assert (slow.most, slow.there) == (AT_ONCE, [])


async def test_a_log_that_is_slow_is_one_of_the_requests_of_its_namespace() -> None:
    slow = Slow()
    shared = SharedRequests(slow)

    async def read_log(namespace: str, pod: str) -> bytes:
        await slow.hold(namespace)
        return pod.encode()

    read = shared.share_logs(read_log)
    reading = [asyncio.create_task(read("many", f"p{number}")) for number in range(10)]
    await turns()
    assert slow.there == ["many"] * OF_ONE
    asking = asyncio.create_task(ask(shared, "many"))
    await turns()
    assert slow.there == ["many"] * OF_ONE
    slow.open.set()
    assert await asyncio.gather(*reading) == [f"p{number}".encode() for number in range(10)]
    await asking


async def test_a_turn_is_given_back_by_who_does_not_wait_any_more() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(shared.get(CLAIMS, "many", "x")) for _ in range(10)]
    await turns()
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    again = asyncio.create_task(ask(shared, "many"))
    await turns()
    assert slow.there == ["many"]
    slow.open.set()
    await again
