"""Serves exec, attach and port-forward of a pod to any client: chooses the form in which it asks, and upgrades.

Errors before the upgrade are `ApiError`s, which `http.server` answers as a Status. After it a fault of one client ends
its own connection alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from aiohttp import web

from paddock.apiserver.streaming import forwards, spdy_sessions
from paddock.apiserver.streaming.endings import closing, end_tasks
from paddock.apiserver.streaming.sessions import V4, V5, WebSocketChannels, run_session
from paddock.apiserver.streaming.spdy import ProtocolError
from paddock.apiserver.streaming.spdy_sessions import SpdyChannels
from paddock.apiserver.streaming.wires import (
    MOST_FORWARDED,
    beating,
    choose_protocol,
    choose_subprotocol,
    open_socket,
    open_websocket,
    read_upgrade,
)
from paddock.kube.errors import BadRequest
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import PodStreams, Session, StreamRequest

_PROTOCOL_HEADER = "X-Stream-Protocol-Version"
CLIENT_SECONDS = 0.05
"""From the upgrade to the first message of a client of version 5, which is Go's: kubectl 1.30 to 1.33 throws away what
comes before it has made its streams (kubernetes/kubernetes#131189), and exits with 0. A kubelet begins the program
after the upgrade, and so is later; here it runs before, so that what hinders it is still an answer of HTTP."""
_log = logging.getLogger(__name__)


class PodStreaming:
    """`streams`: who runs the pods."""

    def __init__(self, streams: PodStreams) -> None:
        self._streams = streams
        self._serving: set[asyncio.Task[Any]] = set()

    async def exec(self, request: web.Request, pod: Manifest, asked: StreamRequest) -> web.StreamResponse:
        """Until the program has ended, or the client has gone."""
        return await self._serve_session(request, asked, lambda: self._streams.exec(pod, asked))

    async def attach(self, request: web.Request, pod: Manifest, asked: StreamRequest) -> web.StreamResponse:
        """Until the container has ended, or the client has gone."""
        return await self._serve_session(request, asked, lambda: self._streams.attach(pod, asked), attached=True)

    async def forward(self, request: web.Request, pod: Manifest, ports: Sequence[int]) -> web.StreamResponse:
        """Until the client has gone. `ports`: of the form by channels; the others name a port for each connection."""
        if read_upgrade(request.headers) == "websocket":
            # Kubernetes' kubelet takes one that names no subprotocol for channels; kr8s is such a client.
            protocol = choose_subprotocol(request, (forwards.TUNNEL, V4), unnamed=V4)
            if protocol == V4 and not ports:
                raise BadRequest('query parameter "ports" is required')
            return await self._serve(request, self._forward_by_messages(request, pod, protocol, ports))
        protocol = choose_protocol(request.headers.getall(_PROTOCOL_HEADER, ()), (forwards.PROTOCOL,))
        return await self._serve(request, self._forward_by_socket(request, pod, protocol))

    async def stop(self) -> None:
        """Ends what is served, and waits until that is closed."""
        await end_tasks(*self._serving)

    async def _serve_session(
        self,
        request: web.Request,
        asked: StreamRequest,
        begin: Callable[[], Coroutine[Any, Any, Session]],
        *,
        attached: bool = False,
    ) -> web.StreamResponse:
        by_messages = read_upgrade(request.headers) == "websocket"
        if by_messages:
            protocol = choose_subprotocol(request, (V5, V4))
        else:
            protocol = choose_protocol(request.headers.getall(_PROTOCOL_HEADER, ()), spdy_sessions.PROTOCOLS)
        run = _run_by_messages if by_messages else _run_by_socket
        # What runs in `_serve` closes it too, and is what `stop` waits for; it may be cancelled before it begins.
        async with closing(await begin()) as session:
            return await self._serve(request, run(request, session, protocol, asked, attached=attached))

    async def _forward_by_messages(
        self, request: web.Request, pod: Manifest, protocol: str, ports: Sequence[int]
    ) -> web.StreamResponse:
        wire, response = await open_websocket(request, protocol, MOST_FORWARDED)
        if protocol == forwards.TUNNEL:
            await forwards.serve_spdy(wire, self._streams, pod)
        else:
            await forwards.serve_channels(wire, self._streams, pod, ports)
        return response

    async def _forward_by_socket(self, request: web.Request, pod: Manifest, protocol: str) -> web.StreamResponse:
        wire, response = await open_socket(request, {_PROTOCOL_HEADER: protocol})
        await forwards.serve_spdy(wire, self._streams, pod)
        return response

    async def _serve(self, request: web.Request, work: Coroutine[Any, Any, web.StreamResponse]) -> web.StreamResponse:
        """`work` upgrades: whatever it raises, no answer of HTTP can be sent any more, and the connection is cut."""
        task = asyncio.create_task(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            await asyncio.wait({task})
        finally:
            # When the client goes, this handler is cancelled: so is what it waits for.
            await end_tasks(task)
        error = None if task.cancelled() else task.exception()
        if error is None and not task.cancelled():
            return task.result()
        if error is not None and not isinstance(error, ConnectionError | ProtocolError):
            _log.error("%s %s failed", request.method, request.path, exc_info=error)
        if request.transport is not None:
            request.transport.abort()
        return web.StreamResponse()  # to nobody


async def _run_by_messages(
    request: web.Request, session: Session, protocol: str, asked: StreamRequest, *, attached: bool
) -> web.StreamResponse:
    async with closing(session):
        wire, response = await open_websocket(request, protocol)
        async with beating(wire.ping):
            if protocol == V5:
                await asyncio.sleep(CLIENT_SECONDS)
            await run_session(session, WebSocketChannels(wire, protocol), asked, attached=attached)
    return response


async def _run_by_socket(
    request: web.Request, session: Session, protocol: str, asked: StreamRequest, *, attached: bool
) -> web.StreamResponse:
    async with closing(session):
        wire, response = await open_socket(request, {_PROTOCOL_HEADER: protocol})
        async with SpdyChannels(wire, asked, protocol) as channels, beating(channels.connection.ping):
            await run_session(session, channels, asked, attached=attached)
    return response
