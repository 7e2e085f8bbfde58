"""A small application behind the server under test, and clients that speak by halves."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from paddock.serving.server import HttpServer, Limits
from paddock.webhook.certificates import make_certificate

HALF = b"GET /now HTTP/1.1\r\nHost: x\r\nX: "
NOW = b"GET /now HTTP/1.1\r\nHost: x\r\n\r\n"
WATCH = b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"


class Client:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> Client:
        self.writer.write(data)
        return self

    async def answer(self) -> bytes:
        """The body of the next answer, which has a length."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
        return await self.reader.readexactly(length)

    async def event(self) -> bytes:
        """The next chunk of a watch."""
        while not (line := await self.reader.readline()).startswith(b"event"):
            assert line, "the watch has ended"
        return line

    async def ended(self) -> bool:
        """Returns once the server has closed it."""
        try:
            while await self.reader.read(2**16):
                pass
        except ConnectionError:
            pass
        return True

    @property
    def is_open(self) -> bool:
        return not self.reader.at_eof() and self.reader.exception() is None


class Served:
    """`tick` wakes each watch for one event."""

    def __init__(self, **options: Any) -> None:
        application = web.Application(client_max_size=2**24)
        application.add_routes([
            web.get("/now", self._now), web.get("/watch", self._watch), web.post("/upload", self._upload),
            web.get("/large", self._large), web.post("/later", self._later),
        ])  # fmt: skip
        self.server = HttpServer(application, shutdown=0.1, cancels=True, **options)
        self.watches = 0
        self.begun = 0
        self.may_read = asyncio.Event()
        self._ticks: list[asyncio.Queue[None]] = []
        self._clients: list[Client] = []
        self.tls: ssl.SSLContext | None = None

    def tick(self) -> None:
        for each in self._ticks:
            each.put_nowait(None)

    async def connect(self, data: bytes = b"", *, tls: bool = True, source: str = "127.0.0.1") -> Client:
        context = self.tls if tls else None
        opening = asyncio.open_connection("127.0.0.1", self.server.port, ssl=context, local_addr=(source, 0))
        client = Client(*await opening)
        self._clients.append(client)
        return client.send(data)

    async def ask(self) -> bytes:
        return await (await self.connect(NOW)).answer()

    async def close(self) -> None:
        for client in self._clients:
            client.writer.transport.abort()
        await self.server.stop()

    async def _now(self, _: web.Request) -> web.Response:
        return web.Response(text="now")

    async def _large(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self.begun += 1
        for _ in range(256):
            await response.write(b"x" * 2**16)
        return response

    async def _upload(self, request: web.Request) -> web.Response:
        self.begun += 1
        return web.Response(text=str(len(await request.read())))

    async def _later(self, request: web.Request) -> web.Response:
        self.begun += 1
        await self.may_read.wait()
        return web.Response(text=str(len(await request.read())))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[None] = asyncio.Queue()
        self._ticks.append(queue)
        response = web.StreamResponse()
        await response.prepare(request)
        self.watches += 1
        try:
            while True:
                await response.write(b"event\n")
                await queue.get()
        finally:
            self.watches -= 1


@asynccontextmanager
async def serving(limits: Limits, *, tls: Path | None = None, **options: Any) -> AsyncIterator[Served]:
    """`tls`: a directory for the certificate, where the server speaks it."""
    served = Served(limits=limits, **options)
    context = None
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made = make_certificate(("127.0.0.1",), datetime.fromtimestamp(time.time(), UTC))
        (tls / "pem").write_text(f"{made.pem}\n{made.key}")
        context.load_cert_chain(tls / "pem")
        served.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        served.tls.check_hostname = False
        served.tls.verify_mode = ssl.CERT_NONE
    await served.server.start("127.0.0.1", 0, context)
    try:
        yield served
    finally:
        await served.close()


async def turn(look: Callable[[], Any]) -> None:
    """Turns of the loop until `look` is true; for a loop whose clock stands still."""
    while not look():  # noqa: ASYNC110
        await asyncio.sleep(0)
