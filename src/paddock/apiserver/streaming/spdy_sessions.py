"""exec and attach over SPDY: a stream for each channel, as kubectl before 1.31 asks for them (`sessions`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

import msgspec

from paddock.apiserver.streaming.endings import end_tasks
from paddock.apiserver.streaming.multiplex import Multiplex, Stream
from paddock.apiserver.streaming.sessions import list_outputs
from paddock.apiserver.streaming.wires import Wire
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, StreamRequest

PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io")
"""v4 tells the end as a Status, the others as a text; v2 has no sizes of a terminal."""
_NAMES: Mapping[str, int] = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}
_OPENING_SECONDS = 30.0
"""For the streams, as a kubelet gives (streamCreationTimeout)."""


def list_streams(asked: StreamRequest, protocol: str) -> frozenset[int]:
    """The channels whose streams the client opens before anything is sent."""
    wanted = {ERROR, *list_outputs(asked)}
    if asked.stdin:
        wanted.add(STDIN)
    if asked.tty and protocol != PROTOCOLS[-1]:
        wanted.add(RESIZE)
    return frozenset(wanted)


class SpdyChannels:
    """For the time of an `async with`, which begins when the client has opened its streams. Raises `ConnectionError` if
    it does not."""

    def __init__(self, wire: Wire, asked: StreamRequest, protocol: str) -> None:
        self.connection = Multiplex(wire, self._take)
        self._tells_status = protocol == PROTOCOLS[0]
        self._wanted = list_streams(asked, protocol)
        self._streams: dict[int, Stream] = {}
        self._complete = asyncio.Event()
        self._received: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(1)
        self._pumps: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self.connection.run())
        opening = asyncio.create_task(self._complete.wait())
        try:
            await asyncio.wait({self._reading, opening}, timeout=_OPENING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not self._complete.is_set():
                raise ConnectionResetError("the client has not opened its streams")
        except BaseException:
            await self.__aexit__()
            raise
        finally:
            opening.cancel()
        return self

    async def __aexit__(self, *error: object) -> None:
        await end_tasks(self._reading, *self._pumps)

    async def receive(self) -> tuple[int, bytes] | None:
        """See `sessions.Channels`."""
        receiving = asyncio.create_task(self._received.get())
        try:
            await asyncio.wait({receiving, self._reading}, return_when=asyncio.FIRST_COMPLETED)
            return receiving.result() if receiving.done() else None
        finally:
            receiving.cancel()

    async def send(self, channel: int, data: bytes) -> None:
        """See `sessions.Channels`."""
        await self._streams[channel].write(data)

    async def end(self, status: Manifest) -> None:
        """See `sessions.Channels`."""
        for channel in (STDOUT, STDERR):
            if channel in self._streams:
                await self._streams[channel].finish()
        if self._tells_status:
            await self._streams[ERROR].write(msgspec.json.encode(status))
        elif "message" in status:
            await self._streams[ERROR].write(status["message"].encode())
        await self._streams[ERROR].finish()
        await self.connection.close()

    async def _take(self, stream: Stream) -> None:
        channel = _NAMES.get(stream.kind)
        if channel is None or channel not in self._wanted or channel in self._streams:
            await stream.reset()
            return
        self._streams[channel] = stream
        if channel in (STDIN, RESIZE):
            self._pumps.append(asyncio.create_task(self._pump(channel, stream)))
        if self._wanted <= self._streams.keys():
            self._complete.set()

    async def _pump(self, channel: int, stream: Stream) -> None:
        with suppress(ConnectionError):
            while data := await stream.read():
                await self._received.put((channel, data))
        if channel == STDIN:
            await self._received.put((CLOSE, bytes((STDIN,))))
