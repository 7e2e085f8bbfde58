"""What carries the bytes of a session once HTTP has been upgraded: the socket itself, or the messages of a WebSocket.

Rule: nothing is read ahead of who takes it, and a write returns when the client has taken enough, so a slow client and
a slow program cost what the buffers on the way have: of a socket 64 KiB, of a WebSocket the message that is being taken
(`MOST_MESSAGE`, `MOST_FORWARDED`), as it is read whole. Each wire sends something now and then: to a client that has
died while nothing is read of it, only a write tells that it is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from aiohttp import WSMsgType, web

from paddock.kube.errors import BadRequest, Forbidden

PING_SECONDS = 5.0
"""Between pings, as kubectl's own (client-go, remotecommand). Nobody is cut for a late answer: a client whose input
waits for a slow program cannot answer."""
_HELD_BYTES = 64 * 1024
MOST_MESSAGE = 32 * 2**20
"""Bytes of one message of a WebSocket, as Kubernetes' library has it (golang.org/x/net/websocket): the Python client
sends what it is given for an input as one."""
MOST_FORWARDED = 2 * 2**20
"""Bytes of one to a port: kubectl sends 32 KiB, and the Python client what it reads of a socket, 1 MiB at most."""
_GOODBYE_SECONDS = 3.0
SPDY = "SPDY/3.1"


class Wire(Protocol):
    async def read(self) -> bytes:
        """The next bytes; empty at the end."""

    async def write(self, data: bytes) -> None:
        """Returns when more may be sent. Raises `ConnectionError`."""

    async def close(self) -> None:
        """After all that was written. What still comes is dropped, until the client has closed too. Nobody may be
        reading a WebSocket then."""


def read_upgrade(headers: Mapping[str, str]) -> str:
    """What the client wants HTTP to become, in lower case: `websocket`, `spdy/3.1`. `BadRequest` if nothing, in the
    words of a kubelet."""
    connection = {word.strip().lower() for word in headers.get("Connection", "").split(",")}
    upgrade = headers.get("Upgrade", "").strip().lower()
    if "upgrade" not in connection or upgrade not in ("websocket", SPDY.lower()):
        raise BadRequest("Upgrade request required")
    return upgrade


# The socket


def choose_protocol(offered: Sequence[str], served: Sequence[str]) -> str:
    """The first of those offered in `X-Stream-Protocol-Version` that is served. `Forbidden` is a real server's answer
    (k8s.io/apimachinery, httpstream.Handshake)."""
    words = [word.strip() for header in offered for word in header.split(",") if word.strip()]
    for word in words:
        if word in served:
            return word
    raise Forbidden(
        f"unable to upgrade: unable to negotiate protocol: client supports [{' '.join(words)[:200]}],"
        f" server accepts [{' '.join(served)}]"
    )


class _Socket(asyncio.Protocol):
    """The connection of a request, after its upgrade. `former`: aiohttp's, which is told what matters to it: that
    writing pauses (its place among connections), and that the client has gone (its handler is cancelled)."""

    def __init__(self, transport: asyncio.Transport, former: asyncio.Protocol) -> None:
        self._transport, self._former = transport, former
        self._held = bytearray()
        self._ended = self._lost = False
        self._news = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= _HELD_BYTES:
            self._transport.pause_reading()
        self._news.set()

    def eof_received(self) -> None:
        self._ended = True
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = self._lost = True
        self._news.set()
        self._may_write.set()
        self._former.connection_lost(exc)

    def pause_writing(self) -> None:
        self._may_write.clear()
        self._former.pause_writing()

    def resume_writing(self) -> None:
        self._may_write.set()
        self._former.resume_writing()

    async def read(self) -> bytes:
        while not self._held and not self._ended:
            self._news.clear()
            await self._news.wait()
        data = bytes(self._held)
        self._held.clear()
        if not self._ended:
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        if self._lost or self._transport.is_closing():
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        await self._may_write.wait()

    async def close(self) -> None:
        # A socket that is closed with something unread in it is reset, and what was sent last would not arrive.
        with suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                while await self.read():
                    pass
        self._transport.close()


async def open_socket(request: web.Request, headers: Mapping[str, str]) -> tuple[Wire, web.StreamResponse]:
    """Answers 101 with these headers; the wire is the request's connection. The handler returns the response when the
    wire is closed."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client has gone")
    response = web.StreamResponse(status=101, headers={"Connection": "Upgrade", "Upgrade": SPDY, **headers})
    response.force_close()
    await response.prepare(request)
    wire = _Socket(transport, request.protocol)
    transport.set_protocol(wire)
    return wire, response


# WebSockets


def choose_subprotocol(request: web.Request, served: Sequence[str], unnamed: str = "") -> str:
    """The first that the client offers and is served; `unnamed` where it names none, and the answer then names none
    either. `BadRequest` of a handshake that is none, or offers no other."""
    offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if word.strip()]
    found = next((word for word in offered if word in served), "") if offered else unnamed
    if not found:
        raise BadRequest(
            f"unable to upgrade: the client offers the subprotocols [{' '.join(offered)[:200]}],"
            f" server accepts [{' '.join(served)}]"
        )
    if not web.WebSocketResponse(protocols=served).can_prepare(request):
        raise BadRequest("unable to upgrade: Sec-WebSocket-Key or Sec-WebSocket-Version is missing, or wrong")
    return found


class WebSocket:
    """Messages of a WebSocket."""

    def __init__(self, response: web.WebSocketResponse) -> None:
        self._response = response

    async def read(self) -> bytes:
        """The next message; empty at the end. An empty message is of no use to anybody, and is passed over."""
        while True:
            message = await self._response.receive()
            if message.type is WSMsgType.BINARY and message.data:
                return bytes(message.data)
            if message.type is WSMsgType.TEXT and message.data:
                return str(message.data).encode()
            if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                return b""

    async def write(self, data: bytes) -> None:
        await self._response.send_bytes(data)

    async def ping(self) -> None:
        await self._response.ping()

    async def close(self) -> None:
        await self._response.close()


async def open_websocket(
    request: web.Request, protocol: str, most: int = MOST_MESSAGE
) -> tuple[WebSocket, web.StreamResponse]:
    """Answers 101; the handler returns the response when the wire is closed. `most`: bytes of a message; a longer one
    ends the connection."""
    response = web.WebSocketResponse(protocols=(protocol,), compress=False, max_msg_size=most, timeout=_GOODBYE_SECONDS)
    await response.prepare(request)
    return WebSocket(response), response


@asynccontextmanager
async def beating(ping: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Pings, for the time of a `with`."""

    async def beat() -> None:
        with suppress(ConnectionError):
            while True:
                await asyncio.sleep(PING_SECONDS)
                await ping()

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
