"""The streams of one SPDY connection (`spdy`), over any wire.

Rule: a stream that has `_HELD_BYTES` or more that nobody has taken makes the whole connection wait, as in Go's library:
SPDY as Kubernetes speaks it has no window for a single stream. So it keeps that, and what came with the last of it: of
a socket 64 KiB and what the transport reads at once, of a WebSocket one message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from paddock.apiserver.streaming.spdy import (
    Data,
    Frame,
    GoAway,
    Ping,
    ProtocolError,
    Reader,
    Reset,
    RstStream,
    SynReply,
    SynStream,
    Writer,
)
from paddock.apiserver.streaming.wires import Wire

MOST_STREAMS = 1024
"""Of one connection at a time; each connection to a forwarded port takes two."""
_HELD_BYTES = 128 * 1024
_READ_HEADERS = ("streamtype", "requestid", "port")
_LONGEST_VALUE = 256
"""Characters of a header that are kept: what Kubernetes' clients send is a word or a number."""
_TURN_FRAMES = 64
"""Frames that are taken in one turn of the event loop."""


class Stream:
    """One that the client has opened. Each side ends its own direction; `reset` ends both."""

    def __init__(self, connection: Multiplex, number: int, headers: Mapping[str, str], *, ended: bool) -> None:
        self.number, self.headers = number, headers
        self._connection = connection
        self._held = bytearray()
        self._ended = ended
        self._gone = self._finished = False
        self._changed = asyncio.Condition()

    @property
    def kind(self) -> str:
        """The header by which Kubernetes tells what it carries: `stdin`, `error`, `data` …"""
        return self.headers.get("streamtype", "").lower()

    async def read(self) -> bytes:
        """The next bytes; empty when the client sends no more. Raises `ConnectionError` when it has reset the stream or
        is gone."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._held or self._ended or self._gone)
            if self._gone:
                raise ConnectionResetError("the client has ended the stream")
            data = bytes(self._held)
            self._held.clear()
            self._changed.notify_all()
            return data

    async def write(self, data: bytes) -> None:
        """Raises `ConnectionError`."""
        if self._gone or self._finished:
            raise ConnectionResetError("the client has ended the stream")
        await self._connection.send(Data(self.number, data))

    async def finish(self) -> None:
        """Nothing more is sent on it. Without effect the second time. Raises `ConnectionError`."""
        if not self._finished and not self._gone:
            self._finished = True
            await self._connection.send(Data(self.number, b"", fin=True))

    async def reset(self) -> None:
        """Raises `ConnectionError`."""
        await self._connection.send(RstStream(self.number, Reset.PROTOCOL_ERROR))
        await self.forget()

    async def forget(self) -> None:
        """Nobody reads of it any more: what still comes is dropped."""
        self._connection.drop(self.number)
        await self.lose()

    async def take(self, data: Data) -> None:
        """Bytes of the client. Returns when there is room for more."""
        async with self._changed:
            self._held += data.data
            self._ended = self._ended or data.fin
            self._changed.notify_all()
            await self._changed.wait_for(lambda: len(self._held) < _HELD_BYTES or self._gone)

    async def lose(self) -> None:
        """The client has reset it, or is gone."""
        async with self._changed:
            self._gone = True
            self._held.clear()
            self._changed.notify_all()


class Multiplex:
    """A connection. `opened` is called with each new stream; the client has heard that it is taken. `lost`: with one
    that the client has reset."""

    def __init__(
        self, wire: Wire, opened: Callable[[Stream], Awaitable[None]], lost: Callable[[Stream], None] | None = None
    ) -> None:
        self._wire, self._opened, self._lost = wire, opened, lost
        self._reader, self._writer = Reader(), Writer()
        self._streams: dict[int, Stream] = {}
        self._last = 0
        self._pings = 0

    async def run(self) -> None:
        """Reads until the client has gone. Raises `ProtocolError` and `ConnectionError`."""
        count = 0
        try:
            while data := await self._wire.read():
                self._reader.add(data)
                while (frames := self._reader.take()) is not None:
                    for frame in frames:
                        if isinstance(frame, GoAway) and not self._streams:
                            return
                        await self._take(frame)
                    # One message of a WebSocket has half a million of the shortest, and others wait meanwhile.
                    count += 1
                    if count % _TURN_FRAMES == 0:
                        await asyncio.sleep(0)
        finally:
            for stream in list(self._streams.values()):
                await stream.lose()
            self._streams.clear()

    async def send(self, frame: Frame) -> None:
        """Returns when more may be sent. Raises `ConnectionError`."""
        await self._wire.write(self._writer.write(frame))

    async def ping(self) -> None:
        self._pings = (self._pings + 2) % 2**31
        await self.send(Ping(self._pings))

    async def close(self) -> None:
        """Tells the client, after all that was sent."""
        await self.send(GoAway(self._last))
        await self._wire.close()

    def drop(self, number: int) -> None:
        """Forgets a stream."""
        self._streams.pop(number, None)

    async def _take(self, frame: Frame) -> None:
        match frame:
            case SynStream():
                await self._open(frame)
            case Data(number):
                if number > self._last or number % 2 == 0:
                    raise ProtocolError(f"data of stream {number}, which was never opened")
                # One that is not known has been forgotten here while this came.
                if (stream := self._streams.get(number)) is not None:
                    await stream.take(frame)
            case RstStream(number):
                if (stream := self._streams.pop(number, None)) is not None:
                    if self._lost is not None:
                        self._lost(stream)
                    await stream.lose()
            case Ping(number) if number % 2:
                await self.send(frame)

    async def _open(self, frame: SynStream) -> None:
        # A client's numbers are odd, and grow (§2.3.2).
        if frame.stream % 2 == 0 or frame.stream <= self._last:
            await self.send(RstStream(frame.stream, Reset.PROTOCOL_ERROR))
            return
        self._last = frame.stream
        if len(self._streams) >= MOST_STREAMS:
            await self.send(RstStream(frame.stream, Reset.REFUSED_STREAM))
            return
        headers = {name: frame.headers[name][:_LONGEST_VALUE] for name in _READ_HEADERS if name in frame.headers}
        stream = Stream(self, frame.stream, headers, ended=frame.fin)
        self._streams[frame.stream] = stream
        await self.send(SynReply(frame.stream))
        await self._opened(stream)
