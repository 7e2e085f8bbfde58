"""One connection of a server: aiohttp's own, which also tells its place what it waits for.

It overrides what asyncio and aiohttp call of a protocol by public names, and reads nothing of aiohttp that is private.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import StreamReader, web
from aiohttp.http import HttpProcessingError

from paddock.serving.places import Phase, Places

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Connection(web.RequestHandler):
    """`opening`: the task of its handshake. `wake`: called when it begins to wait for something that has a time.
    `options`: of aiohttp's `RequestHandler`."""

    __slots__ = ("_body", "_clock", "_held_back", "_phase", "_places", "_rest", "_wake", "_wire", "opening")

    def __init__(
        self,
        server: web.Server,
        places: Places[Connection],
        wake: Callable[[], None],
        loop: asyncio.AbstractEventLoop,
        **options: Any,
    ) -> None:
        super().__init__(server, loop=loop, **options)
        self._places, self._wake, self._clock, self._phase = places, wake, loop.time, Phase.HEAD
        self._wire: asyncio.Transport | None = None
        self._body: StreamReader | None = None  # of the request that is being answered
        self._rest = False  # something came behind that request
        self._held_back = False  # the server reads no more of the body for now
        self.opening: asyncio.Task[None] | None = None

    @property
    def opened(self) -> bool:
        """Whether there was a transport, which closes its socket itself."""
        return self._wire is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire = cast(asyncio.Transport, transport)  # of uvloop's only some are instances
        super().connection_made(transport)
        self._move(Phase.HEAD)  # after a handshake the head has its time from its own beginning

    def connection_lost(self, exc: BaseException | None) -> None:
        self._places.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        body = self._body
        is_behind = body is not None and body.is_eof()
        super().data_received(data)
        if is_behind:
            self._rest = self._rest or bool(data)
        elif body is not None:
            self._settle()
        elif data and self._phase is Phase.IDLE:
            self._move(Phase.HEAD)  # the first bytes of a request; those that follow give it no more time

    def pause_writing(self) -> None:
        super().pause_writing()
        self._settle()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._settle()

    def pause_reading(self) -> None:
        super().pause_reading()
        self._held_back = True
        self._settle()

    def resume_reading(self, resume_parser: bool = True) -> None:
        self._held_back = False
        super().resume_reading(resume_parser)
        self._settle()

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """What is no HTTP is its client's fault, and is answered (400). Logged it would show what was sent, a token as
        well, and whoever can connect could fill the log."""
        if not isinstance(kw.get("exc_info"), HttpProcessingError):
            super().log_exception(*args, **kw)

    def begin(self, body: StreamReader) -> None:
        """A request has its head: its handler begins."""
        self._body, self._rest = body, False
        self._settle()

    def finish(self) -> None:
        """Its handler has ended."""
        self._body = None
        self._settle()

    def abort(self) -> None:
        """Its descriptor is free at once: nobody waits for what the client says to that."""
        self._places.leave(self)
        if self._wire is not None:
            self._wire.abort()
        elif self.opening is not None:
            self.opening.cancel()

    def _settle(self) -> None:
        phase = self._find_phase()
        if phase is not self._phase or phase is Phase.BODY:
            self._move(phase)

    def _move(self, phase: Phase) -> None:
        self._phase = phase
        self._places.move(self, phase, self._clock())
        if phase is Phase.HEAD or phase is Phase.BODY:
            self._wake()

    def _find_phase(self) -> Phase:
        if self.writing_paused:
            return Phase.STALLED
        if self._body is None:
            return Phase.HEAD if self._rest else Phase.IDLE
        return Phase.ANSWERED if self._held_back or self._body.is_eof() else Phase.BODY


def tell(handle: Handle) -> Handle:
    """The same handler, whose connections know when it begins and ends."""

    async def told(request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.begin(request.content)
        try:
            # aiohttp repeats this header in its refusal, and fails where its bytes are no UTF-8.
            if not request.headers.get("Expect", "").isascii():
                return web.Response(status=417, text="Expect: 100-continue alone is known")
            return await handle(request)
        finally:
            connection.finish()

    return told
