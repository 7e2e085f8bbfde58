"""An http server for tests that behaves as badly as it is told to, and counts what it sends."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

CHUNK = 16 << 10


def build_bytes(count: int, seed: int = 0) -> bytes:
    """Bytes that differ everywhere, so that no wrong offset goes unnoticed."""
    return hashlib.shake_128(str(seed).encode()).digest(count)


class Paced(Protocol):
    speed: float
    trickles_after: int
    sent: int


def find_speed(paced: Paced) -> float:
    """What a test stops in its middle trickles from there on, so that no machine is too slow to stop it in time."""
    return paced.speed / 100 if 0 < paced.trickles_after <= paced.sent else paced.speed


@dataclass
class Server:
    """One file at every address. Each request takes the first of `plans` that is left, else the file as it is."""

    data: bytes = b""
    etag: str = '"one"'
    last_modified: str = ""
    date: str = ""
    """What its clock says; empty: the time of this machine."""
    ranges: bool = True
    length: bool = True
    speed: float = 0.0
    """Bytes per second; 0: as fast as it goes."""
    trickles_after: int = 0
    """After so many bytes of all bodies it sends at a hundredth of its speed; 0: never."""
    cuts: list[int] = field(default_factory=list)
    """After so many bytes of the body the connection is cut, one for each request."""
    answers: list[web.StreamResponse] = field(default_factory=list)
    """Given instead of the file, one for each request."""
    check: Callable[[web.Request], web.StreamResponse | None] = lambda request: None
    before: Callable[[int], Awaitable[None]] | None = None
    """Called with each request's number, from 0."""
    sent: int = 0
    requests: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    host: str = "127.0.0.1"

    def url(self, path: str = "words.bin") -> str:
        return f"http://{self.host}:{self.port}/{path}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(dict(request.headers))
        if self.before:
            await self.before(len(self.requests) - 1)
        if (given := self.check(request)) is not None:
            return given
        if self.answers:
            return self.answers.pop(0)
        if self.etag and request.headers.get("If-None-Match") == self.etag:
            return web.Response(status=304, headers={"ETag": self.etag})
        if self.last_modified and request.headers.get("If-Modified-Since") == self.last_modified:
            return web.Response(status=304)
        begin = self._read_range(request)
        if begin > 0 and begin >= len(self.data):
            headers = {"Content-Range": f"bytes */{len(self.data)}", "ETag": self.etag}
            return web.Response(status=416, headers=headers)
        return await self._send(request, begin)

    def _read_range(self, request: web.Request) -> int:
        wanted, condition = request.headers.get("Range", ""), request.headers.get("If-Range", "")
        if not self.ranges or not wanted or (condition and condition not in (self.etag, self.last_modified)):
            return 0
        return int(wanted.removeprefix("bytes=").removesuffix("-"))

    async def _send(self, request: web.Request, begin: int) -> web.StreamResponse:
        data = self.data
        response = web.StreamResponse(status=206 if begin else 200)
        if self.etag:
            response.headers["ETag"] = self.etag
        if self.last_modified:
            response.headers["Last-Modified"] = self.last_modified
        if self.date:
            response.headers["Date"] = self.date
        if begin:
            response.headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        if self.length:
            response.content_length = len(data) - begin
        else:
            response.enable_chunked_encoding()
        cut = self.cuts.pop(0) if self.cuts else len(data)
        await response.prepare(request)
        for offset in range(begin, len(data), CHUNK):
            if offset - begin >= cut:
                assert request.transport is not None
                request.transport.close()
                return response
            piece = data[offset : offset + CHUNK]
            try:
                await response.write(piece)
            except ConnectionError:
                return response
            self.sent += len(piece)
            if self.speed:
                await asyncio.sleep(len(piece) / find_speed(self))
        await response.write_eof()
        return response


@asynccontextmanager
async def serve_until_closed(data: bytes) -> AsyncIterator[str]:
    """A server that tells no length: its body ends with the connection. Its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + data)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/words.bin"
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def serve(server: Server, context: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, server.host, server.port, ssl_context=context)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
