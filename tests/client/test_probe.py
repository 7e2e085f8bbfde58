"""A server that hangs ends no watch and refuses nothing: it is asked whether it answers, and watches begin anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from paddock.app.consoles.heartbeat import ANSWER_SECONDS, ASK_SECONDS, keep_asking
from paddock.client.client import Client
from paddock.client.kubeconfig import Config
from paddock.kube.meta import PODS
from support.answers import serve_answers


class Server:
    """Of one pod, which a watch that begins later than the first one tells of. `hangs`: it takes requests and is still.
    `refuses`: it does not know the user."""

    def __init__(self) -> None:
        self.hangs = self.refuses = False
        self.asked: list[str] = []
        self.watches, self.watched = 0, asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if self.hangs:
            await asyncio.Event().wait()
        if request.path == "/version":
            return web.json_response({}, status=401 if self.refuses else 200)
        if "watch" not in request.query:
            return web.json_response({"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": []})
        self.watches += 1
        self.watched.set()
        stream = web.StreamResponse()
        await stream.prepare(request)
        if self.watches > 1:
            await stream.write(b'{"type":"ADDED","object":{"metadata":{"name":"late","namespace":"a","uid":"u",')
            await stream.write(b'"resourceVersion":"2"}}}\n')
        await asyncio.Event().wait()
        return stream


@asynccontextmanager
async def serve(server: Server) -> AsyncIterator[Client]:
    async with serve_answers(server.answer, cancels=True) as url, Client(Config(server=url)) as client:
        yield client


@asynccontextmanager
async def following(client: Client) -> AsyncIterator[asyncio.Queue[str]]:
    """The names of the events of pods, after SYNCED."""
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def follow() -> None:
        async for event in client.follow(PODS):
            queue.put_nowait(event.type)

    task = asyncio.create_task(follow())
    try:
        yield queue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_server_that_hangs_is_noticed_and_a_watch_begins_anew_when_it_answers() -> None:
    server = Server()
    async with asyncio.timeout(180), serve(server) as client, following(client) as events:
        assert await events.get() == "SYNCED"
        await server.watched.wait()
        await client.probe(5.0)
        assert (client.silent_since, server.watches) == (None, 1), "a server that answers loses no watch"
        server.hangs = True
        await client.probe(0.2)
        assert client.silent_since is not None
        server.hangs = False
        await client.probe(5.0)
        assert await events.get() == "ADDED", "neither the old watch nor one that began meanwhile would ever tell it"
        assert client.silent_since is None


async def test_a_refusal_is_an_answer() -> None:
    server = Server()
    async with asyncio.timeout(180), serve(server) as client, following(client) as events:
        assert await events.get() == "SYNCED"
        await server.watched.wait()
        server.refuses = True
        await client.probe(5.0)
        assert server.asked[-1] == "/version"
        assert (client.silent_since, server.watches) == (None, 1)


async def test_nothing_is_asked_while_nobody_follows() -> None:
    server = Server()
    async with serve(server) as client:
        await client.probe(5.0)
    assert server.asked == []


async def test_it_is_asked_often_enough_that_a_page_says_so_within_a_quarter_of_a_minute() -> None:
    slept, asked, again = list[float](), list[float](), asyncio.Event()

    class Asked:
        async def probe(self, seconds: float) -> None:
            asked.append(seconds)
            again.set()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2:
            await asyncio.Event().wait()

    task = asyncio.create_task(keep_asking(Asked(), sleep))
    await again.wait()
    await asyncio.sleep(0)
    task.cancel()
    assert (slept, asked) == ([ASK_SECONDS] * 3, [ANSWER_SECONDS] * 2)
    assert ASK_SECONDS + ANSWER_SECONDS <= 15
