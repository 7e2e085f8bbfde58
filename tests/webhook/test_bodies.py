"""Bodies that arrive by halves: which of them gives way where there is no room for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol

from paddock.webhook.bodies import Bodies

pytestmark = pytest.mark.timeout(60)  # who does not give way would wait for ever


class Asker:
    """One request, whose bytes come as the test says."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        loop = asyncio.get_running_loop()
        protocol = BaseProtocol(loop)
        protocol.connection_made(asyncio.Transport())
        self._content = StreamReader(protocol, 2**16, loop=loop)
        self._may_end = asyncio.Event()
        self.read: asyncio.Future[bytes] = loop.create_future()
        self.task = asyncio.create_task(self._ask())

    async def send(self, data: bytes, *, end: bool = False) -> Asker:
        self._content.feed_data(data)
        if end:
            self._content.feed_eof()
        for _ in range(5):
            await asyncio.sleep(0)
        return self

    async def leave(self) -> None:
        self._may_end.set()
        await self.task

    async def _ask(self) -> str:
        try:
            async with asyncio.timeout(None) as time:
                with self._bodies.hold(time):
                    self.read.set_result(await self._bodies.read(self._content, time))
                    await self._may_end.wait()
        except TimeoutError:
            return "gave way"
        except web.HTTPRequestEntityTooLarge:
            return "too large"
        return "answered"


@asynccontextmanager
async def asking(bodies: Bodies, *sent: bytes) -> AsyncIterator[list[Asker]]:
    askers = [await Asker(bodies).send(each) for each in sent]
    yield askers
    for each in askers:
        each.task.cancel()
    await asyncio.gather(*(each.task for each in askers), return_exceptions=True)


async def test_the_one_that_has_been_arriving_longest_gives_way_and_no_more_than_needed() -> None:
    bodies = Bodies(10, 10)
    async with asking(bodies, b"aaaa", b"bbbb", b"c") as (first, second, third):
        assert not first.task.done()
        new = await Asker(bodies).send(b"dddd", end=True)
        assert await first.task == "gave way"
        assert (await new.read, second.task.done(), third.task.done()) == (b"dddd", False, False)
        await new.leave()


async def test_what_is_there_and_waits_counts_and_gives_way_to_nothing() -> None:
    bodies = Bodies(10, 10)
    async with asking(bodies) as _:
        waiting = [await Asker(bodies).send(b"aaaa", end=True) for _ in range(2)]
        late = await Asker(bodies).send(b"bbb")
        assert await late.task == "gave way"
        assert [each.task.done() for each in waiting] == [False, False]
        await waiting[0].leave()
        new = await Asker(bodies).send(b"bbb", end=True)
        assert await new.read == b"bbb"
        await new.leave()
        await waiting[1].leave()
        assert bodies._total == 0


async def test_one_alone_has_its_own_bound() -> None:
    bodies = Bodies(10, 5)
    assert await (await Asker(bodies).send(b"aaaaaa")).task == "too large"
    whole = await Asker(bodies).send(b"aaaaa", end=True)
    assert await whole.read == b"aaaaa"
    await whole.leave()


@pytest.mark.parametrize("sizes", [(1,) * 100, (10, 10, 10), (7, 3, 5, 9, 1, 10)])
async def test_all_together_never_have_more(sizes: tuple[int, ...]) -> None:
    bodies = Bodies(10, 10)
    askers = []
    for size in sizes:
        askers.append(await Asker(bodies).send(b"x" * size))
        assert bodies._total <= 10
        assert not askers[-1].task.done(), "the newest is not the one that gives way"
    for each in askers:
        await each.send(b"", end=True)
        each._may_end.set()
    assert {await each.task for each in askers} == {"gave way", "answered"}
    assert bodies._total == 0
