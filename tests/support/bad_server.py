"""A faulty API server: a proxy of a good one that fails, drops, delays or cuts requests as the test says.

Failures are sent over the network, so the client's parsing of them is tested too. Of Kubernetes it knows only the
format of a watch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from aiohttp import web

from paddock.client.client import Client
from paddock.client.connection import Connection
from paddock.client.kubeconfig import Config
from paddock.client.requests import Request
from paddock.kube.errors import ApiError, build_status
from support.loopback import own_address


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one request. `done`: the good server executes it first, and the answer is lost.

    `error`: the answer, with its code and Retry-After; None: the connection breaks without an answer. `seconds`: the
    delay of the request, which is served then if there is no other fault.
    """

    error: ApiError | None = None
    done: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Cut:
    """The early end of a watch: after `events` events, with the bytes `last` (an incomplete line, an ERROR event).
    `forgets`: every watch of this resource ends so until the next list."""

    events: int
    last: bytes = b""
    forgets: bool = False


def _never(number: int, method: str, path: str) -> None:
    return None


class BadServer:
    """`fault` is called for every request but watches, with its number from 1. `cut` applies to every watch; events
    that `swallows` selects are dropped. `watch_seconds`: the time after which a watch ends without an error; 0: as
    the client asks."""

    def __init__(self, good: Config) -> None:
        self.fault: Callable[[int, str, str], Fault | None] = _never
        self.cut: Cut | None = None
        self.watch_seconds = 0
        self.swallows: Callable[[bytes], bool] = lambda line: False
        self.requests = 0
        self.watches = 0
        self.url = ""
        self._numbers = count(1)
        self._forgotten: set[str] = set()
        self._good = Connection(good)
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def up(self) -> None:
        """Listens; on the same port as before, after `down`."""
        application = web.Application(client_max_size=2**24)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, own_address(), self._port).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://{own_address()}:{self._port}"

    async def down(self) -> None:
        """Refuses connections, and ends those that there are."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        wire = Request(
            request.method,
            request.path,
            dict(request.query),
            {"Content-Type": request.content_type, "Accept": request.headers.get("Accept", "*/*")},
            await request.read() or None,
        )
        return await (self._watch if request.query.get("watch") else self._pass_on)(request, wire)

    async def _pass_on(self, request: web.Request, wire: Request) -> web.StreamResponse:
        self.requests += 1
        self._forgotten.discard(wire.path)
        fault = self.fault(next(self._numbers), wire.method, wire.path)
        if fault is None:
            return await self._answer(wire)
        await asyncio.sleep(fault.seconds)
        if fault.done:
            await self._answer(wire)
        elif fault.seconds:
            return await self._answer(wire)
        return _refuse(fault.error) if fault.error else _drop(request)

    async def _answer(self, wire: Request) -> web.Response:
        try:
            return web.Response(body=await self._good.send(wire), content_type="application/json")
        except ApiError as error:
            return _refuse(error)

    async def _watch(self, request: web.Request, wire: Request) -> web.StreamResponse:
        self.watches += 1
        if self.watch_seconds:
            wire = replace(wire, query={**wire.query, "timeoutSeconds": str(self.watch_seconds)})
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        cut, told = self.cut, 0
        try:
            async for chunk in self._good.stream(wire):
                if not response.prepared:
                    await response.prepare(request)
                for line in chunk.splitlines(keepends=True):
                    if cut is not None and (told >= cut.events or wire.path in self._forgotten):
                        if cut.forgets:
                            self._forgotten.add(wire.path)
                        await response.write(cut.last)
                        return response
                    if not self.swallows(line):
                        await response.write(line)
                    told += line.endswith(b"\n")
        except ApiError as error:
            if not response.prepared:
                return _refuse(error)
        return response


def _refuse(error: ApiError) -> web.Response:
    headers = {} if error.retry_after is None else {"Retry-After": str(round(error.retry_after))}
    return web.json_response(build_status(error), status=error.code, headers=headers)


def _drop(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@asynccontextmanager
async def bad_server(good: Config) -> AsyncIterator[BadServer]:
    server = BadServer(good)
    await server._good.open()
    try:
        await server.up()
        yield server
    finally:
        await server.down()
        await server._good.close()


@asynccontextmanager
async def client_of(server: BadServer, **options: Any) -> AsyncIterator[Client]:
    async with Client(Config(server.url, source="a bad server"), timeout=5.0, **options) as client:
        yield client
