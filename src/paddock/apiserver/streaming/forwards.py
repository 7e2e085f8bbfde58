"""Connections to the ports of a pod, in the three forms in which clients ask for them.

    SPDY/3.1, portforward.k8s.io            two streams for each connection, `data` and `error`, of one request ID
    SPDY/3.1+portforward.k8s.io             the same, within the messages of a WebSocket (kubectl since 1.31)
    v4.channel.k8s.io, `?ports=80`          two channels for each port, which begin with its number in two bytes; one
                                            connection to each (the Python client); so without a subprotocol (kr8s)

Rule: a connection that fails tells its client why on its own error stream, and no other connection is harmed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from paddock.apiserver.streaming.endings import closing, end_tasks
from paddock.apiserver.streaming.multiplex import MOST_STREAMS, Multiplex, Stream
from paddock.apiserver.streaming.wires import WebSocket, Wire, beating
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, name_of, uid_of
from paddock.kube.pod_streams import Connection, PodStreams, read_port

PROTOCOL = "portforward.k8s.io"
TUNNEL = f"SPDY/3.1+{PROTOCOL}"
_PAIR_SECONDS = 30.0
"""For the second stream of a connection, as a kubelet gives (streamCreationTimeout)."""
MOST_PORTS = 100
"""Of one request: a channel is one byte."""


def explain_failure(pod: Manifest, port: int, error: Exception) -> str:
    """As a kubelet tells it."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"error forwarding port {port} to pod {name_of(pod)}, uid {uid_of(pod)}: {why}"


class Ends(Protocol):
    """The client's side of one connection."""

    async def receive(self) -> bytes:
        """Empty when it sends no more. Raises `ConnectionError` when it has gone."""

    async def send(self, data: bytes) -> None:
        """Raises `ConnectionError`."""


async def join(ends: Ends, connection: Connection) -> None:
    """Until the pod has no more to send, or the client has gone. The connection is closed then.

    A client that sends no more may still read; to one whose pod sends no more nothing else can be told. A connection
    that the pod breaks ends as one that it closes: kubectl gives up all of a forward for one error that it is told."""
    async with closing(connection):
        upward = asyncio.create_task(_send_up(ends, connection))
        downward = asyncio.create_task(_send_down(ends, connection))
        try:
            await asyncio.wait({upward, downward}, return_when=asyncio.FIRST_COMPLETED)
            if not upward.done() or upward.exception() is None:
                await downward
        except ConnectionError:
            pass  # the client has gone
        finally:
            await end_tasks(upward, downward)


async def _send_up(ends: Ends, connection: Connection) -> None:
    """Raises `ConnectionError` when the client has gone."""
    is_read = True
    while data := await ends.receive():
        # What the pod reads no more is dropped: it may still have something to say.
        if is_read:
            try:
                await connection.write(data)
            except OSError:
                is_read = False
    if is_read:
        with suppress(OSError):
            connection.write_eof()


async def _send_down(ends: Ends, connection: Connection) -> None:
    while data := await _read(connection):
        await ends.send(data)


async def _read(connection: Connection) -> bytes:
    try:
        return await connection.read()
    except OSError:
        return b""


# SPDY


class _StreamEnds:
    def __init__(self, stream: Stream) -> None:
        self.receive = stream.read
        self.send = stream.write


class _Half(NamedTuple):
    """A stream that waits for the other one of its connection."""

    stream: Stream
    waiting: asyncio.Task[None]


class _Forwards:
    """Of one SPDY connection."""

    def __init__(self, wire: Wire, streams: PodStreams, pod: Manifest) -> None:
        self._streams, self._pod = streams, pod
        self._multiplex = Multiplex(wire, self._open, self._lose)
        self._halves: dict[str, _Half] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            async with beating(self._multiplex.ping):
                await self._multiplex.run()
        finally:
            await end_tasks(*self._tasks)

    async def _open(self, stream: Stream) -> None:
        request = _read_request(stream)
        half = self._halves.get(request)
        # What a client resets at once may still be coming to its end, so streams alone are no bound.
        if stream.kind not in ("data", "error") or len(self._tasks) >= MOST_STREAMS:
            await stream.reset()
        elif half is None:
            self._halves[request] = _Half(stream, self._start(self._await_other(request, stream)))
        elif half.stream.kind == stream.kind:
            await stream.reset()
        else:
            self._end_waiting(request)
            data, error = (stream, half.stream) if stream.kind == "data" else (half.stream, stream)
            self._start(self._forward(data, error))

    def _lose(self, stream: Stream) -> None:
        request = _read_request(stream)
        if (half := self._halves.get(request)) is not None and half.stream is stream:
            self._end_waiting(request)

    def _end_waiting(self, request: str) -> None:
        self._halves.pop(request).waiting.cancel()

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _await_other(self, request: str, stream: Stream) -> None:
        await asyncio.sleep(_PAIR_SECONDS)
        del self._halves[request]
        with suppress(ConnectionError):
            await stream.reset()

    async def _forward(self, data: Stream, error: Stream) -> None:
        with suppress(ConnectionError):
            if said := await self._try_forward(data):
                await error.write(said.encode())
            await data.finish()
            await error.finish()
        await data.forget()
        await error.forget()

    async def _try_forward(self, data: Stream) -> str:
        """What the client is told of a failure."""
        port = read_port(data.headers.get("port", ""))
        if port is None:
            return f"unable to parse port of {data.headers.get('port', '')[:100]!r}"
        return await forward(self._streams, self._pod, port, _StreamEnds(data))


def _read_request(stream: Stream) -> str:
    # Older clients send no ID: their error stream comes first, and its data stream is the next one.
    return stream.headers.get("requestid") or str(stream.number - 2 * (stream.kind == "data"))


async def forward(streams: PodStreams, pod: Manifest, port: int, ends: Ends) -> str:
    """One connection, until its end. What the client is told if there is none; else empty."""
    try:
        connection = await streams.connect(pod, port)
    except (ApiError, OSError) as error:
        return explain_failure(pod, port, error)
    await join(ends, connection)
    return ""


async def serve_spdy(wire: Wire, streams: PodStreams, pod: Manifest) -> None:
    """Until the client has gone. Raises `ProtocolError` and `ConnectionError`."""
    await _Forwards(wire, streams, pod).run()


# Channels


class _Channel:
    """The data of one port."""

    def __init__(self, wire: WebSocket, number: int) -> None:
        self._wire, self.number = wire, number
        self._received: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._over = False

    async def put(self, data: bytes) -> None:
        if not self._over:
            await self._received.put(data)

    async def receive(self) -> bytes:
        return await self._received.get()

    async def send(self, data: bytes) -> None:
        await self._wire.write(bytes((self.number,)) + data)

    def end(self) -> None:
        """What still comes is dropped."""
        self._over = True
        while not self._received.empty():
            self._received.get_nowait()


async def _serve_channel(wire: WebSocket, streams: PodStreams, pod: Manifest, port: int, channel: _Channel) -> None:
    said = await forward(streams, pod, port, channel)
    channel.end()
    if said:
        with suppress(ConnectionError):
            await wire.write(bytes((channel.number + 1,)) + said.encode())


async def _read_channels(wire: WebSocket, channels: Sequence[_Channel]) -> None:
    while message := await wire.read():
        index, is_error = divmod(message[0], 2)
        if index < len(channels) and not is_error and message[1:]:
            await channels[index].put(message[1:])


async def serve_channels(wire: WebSocket, streams: PodStreams, pod: Manifest, ports: Sequence[int]) -> None:
    """Until all connections have ended, or the client has gone. Raises `ConnectionError`."""
    channels = [_Channel(wire, 2 * index) for index in range(len(ports))]
    for index, port in enumerate(ports):
        for number in (2 * index, 2 * index + 1):
            await wire.write(bytes((number,)) + port.to_bytes(2, "little"))
    forwards = [
        asyncio.create_task(_serve_channel(wire, streams, pod, port, channel))
        for port, channel in zip(ports, channels, strict=True)
    ]
    ended = asyncio.create_task(asyncio.wait(forwards))
    reading = asyncio.create_task(_read_channels(wire, channels))
    either: set[asyncio.Task[Any]] = {ended, reading}
    try:
        async with beating(wire.ping):
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            await end_tasks(reading)
            await wire.close()
            for each in forwards:
                each.result()
    finally:
        await end_tasks(*forwards, ended, reading)
