"""A server of an aiohttp application on this machine's addresses, whose connections have places (`places`).

It accepts connections itself. asyncio's own servers take whatever comes, tell nobody of a TLS handshake that does not
end, and with no descriptor left asyncio's stops accepting for a second, uvloop's for ever.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from paddock.serving.connection import Connection, tell
from paddock.serving.open_files import read_connection_limit
from paddock.serving.places import Phase, Places

BACKLOG = 1_024
"""Connections that the system keeps while this process is at other work; Linux cuts it to net.core.somaxconn."""
_TURNS = 16
"""Of the loop, that every connection has at least before it can be the one that gives way: a handshake and a head take
about four, and what is accepted at a turn is as many places less."""
_PAUSE_SECONDS = 0.2
"""Before the next look when no descriptor was left."""
_GOODBYE_SECONDS = 2.0
"""For the client's answer to the end of TLS; without it the connection is cut."""
_SAID_SECONDS = 60.0
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_log = logging.getLogger("paddock.serving")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a client may take, in seconds, and how many may be connected."""

    head: float = 10.0
    """Time for a TLS handshake, and as long again for the head of the first request; for that of each further one from
    its first byte."""
    body: float = 30.0
    """Time without a byte of a body."""
    idle: float = 120.0
    """Time between requests; longer than the 90 s for which Go's clients, such as kubectl and the API server, keep a
    connection, so that they let it go and not the server under them."""
    connections: int = 0
    """How many at once; 0: by the files that the process may have open."""


LIMITS = Limits()


class HttpServer:
    """`shutdown`: seconds that open responses have when it stops. `cancels`: a handler is cancelled when its client
    leaves. `options`: of aiohttp's `RequestHandler`. Start and stop it in one event loop."""

    def __init__(
        self,
        application: web.Application,
        *,
        limits: Limits = LIMITS,
        shutdown: float = 1.0,
        cancels: bool = False,
        **options: Any,
    ) -> None:
        self._runner = web.AppRunner(
            application, access_log=None, shutdown_timeout=shutdown, handler_cancellation=cancels
        )
        self._limits = limits
        self._options = {**options, "access_log": None, "keepalive_timeout": limits.idle}
        most = limits.connections or read_connection_limit()
        self._places = Places[Connection](most, {Phase.HEAD: limits.head, Phase.BODY: limits.body})
        self._at_a_turn = max(1, most // _TURNS)
        self._listening: list[socket.socket] = []
        self._timer: asyncio.TimerHandle | None = None
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        self._said = float("-inf")

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listening[0].getsockname()[1])

    @property
    def connections(self) -> int:
        return len(self._places)

    async def start(self, host: str | None, port: int, tls: ssl.SSLContext | None = None) -> None:
        """`host` None: every address of the machine. Port 0: any free one. Raises OSError; then nothing is left."""
        await self.start_on(await bind(host, port), tls)

    async def start_on(self, listening: Iterable[socket.socket], tls: ssl.SSLContext | None = None) -> None:
        """On sockets that are bound; they are closed by `stop`, or before this raises."""
        self._listening, self._tls = list(listening), tls
        try:
            await self._runner.setup()
        except BaseException:
            for each in self._listening:
                each.close()
            raise
        server = self._runner.server
        assert server is not None
        server.request_handler = tell(server.request_handler)
        self._server, self._loop = server, asyncio.get_running_loop()
        for each in self._listening:
            each.setblocking(False)
            each.listen(BACKLOG)
            self._loop.add_reader(each, self._accept, each)

    async def stop(self) -> None:
        """Frees the port, ends idle connections, and gives open responses their time."""
        loop = asyncio.get_running_loop()
        for timer in (*self._pauses.values(), *([self._timer] if self._timer else [])):
            timer.cancel()
        for each in self._listening:
            loop.remove_reader(each)
            each.close()
        self._listening = []
        opening = [each.opening for each in self._places.list_in(Phase.HEAD) if each.opening is not None]
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        if self._runner.server is not None:
            await self._runner.cleanup()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(self._at_a_turn):
            try:
                accepted, address = listening.accept()
            except OSError as error:
                if error.errno in _NO_ROOM:
                    self._wait_for_files(listening, error)
                # Without anybody waiting, or as the client has left already: the next turn will do.
                return
            if self._places.full and not self._make_place():
                accepted.close()
                continue
            self._take(accepted, str(address[0]))

    def _make_place(self) -> bool:
        yielding = self._places.find_yielding()
        if yielding is None:
            self._say("all %d connections are in use: a new one was refused", len(self._places))
            return False
        self._say("all %d connections are taken: those that wait longest for their clients give way", len(self._places))
        yielding.abort()
        return True

    def _take(self, accepted: socket.socket, address: str) -> None:
        accepted.setblocking(False)
        connection = Connection(self._server, self._places, self._set_timer, self._loop, **self._options)
        self._places.take(connection, address, self._loop.time())
        self._set_timer()
        connection.opening = self._loop.create_task(self._open(accepted, connection))
        connection.opening.add_done_callback(lambda _: self._close_unopened(accepted, connection))

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        # The phase has its own time; this one is never reached before it.
        times = {"ssl_handshake_timeout": 2 * self._limits.head, "ssl_shutdown_timeout": _GOODBYE_SECONDS}
        with suppress(OSError):  # the client left, or speaks something else: ssl.SSLError is one too
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, **(times if self._tls else {})
            )

    def _close_unopened(self, accepted: socket.socket, connection: Connection) -> None:
        connection.opening = None
        if not connection.opened:
            self._places.leave(connection)
            accepted.close()

    def _set_timer(self) -> None:
        """For the next connection that is late. One that begins to wait later is not late before the shortest time."""
        if self._timer is None and (end := self._places.find_next_end()) is not None:
            shortest = min(self._limits.head, self._limits.body)
            self._timer = self._loop.call_at(min(end, self._loop.time() + shortest), self._end_late)

    def _end_late(self) -> None:
        self._timer = None
        for connection in self._places.find_late(self._loop.time()):
            connection.abort()
        self._set_timer()

    def _wait_for_files(self, listening: socket.socket, error: OSError) -> None:
        """What waits in the system's queue stays there, and would call at once again."""
        self._say("no connection can be accepted: %s", error.strerror)
        if (yielding := self._places.find_yielding()) is not None:
            yielding.abort()
        self._loop.remove_reader(listening)
        again = lambda: self._loop.add_reader(listening, self._accept, listening)  # noqa: E731
        self._pauses[listening] = self._loop.call_later(_PAUSE_SECONDS, again)

    def _say(self, text: str, *values: object) -> None:
        """Once a minute: who floods a server must not fill its log."""
        now = self._loop.time()
        if now - self._said >= _SAID_SECONDS:
            self._said = now
            _log.warning(text, *values)


async def bind(host: str | None, port: int) -> list[socket.socket]:
    """Sockets at each address of this name; None: at every address of the machine, all of one port. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = bound[0].getsockname()[1] if bound else address[1]
            # A machine may have one family alone, and tell of both.
            with suppress(OSError) if host is None and bound else nullcontext():
                bound.append(_bind(family, (address[0], chosen, *address[2:])))
    except BaseException:
        for each in bound:
            each.close()
        raise
    return bound


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
