"""exec and attach: a `Session` joined with the channels of a client, whatever carries these.

    v5.channel.k8s.io, v4.channel.k8s.io    messages of a WebSocket, whose first byte is the number of their channel
    SPDY/3.1                                a stream for each channel (`multiplex`)

Rule: output is taken from the session when the client has taken what came before, and input from the client when the
program has. Whoever leaves first, nothing runs on here; who has
begun the session closes it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from typing import Protocol

import msgspec

from paddock.apiserver.streaming.endings import end_tasks
from paddock.apiserver.streaming.wires import WebSocket
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import (
    CLOSE,
    ERROR,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    Ended,
    Session,
    Size,
    StreamRequest,
    build_end,
)

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
_MOST_SIDE = 2**16 - 1
_MOST_RESIZE = 1024
"""Bytes that are searched for sizes at once: a message may have millions, and the event loop waits meanwhile."""
_OBJECT = re.compile(rb"\{[^{}]*\}")


class Channels(Protocol):
    """Of one client."""

    async def receive(self) -> tuple[int, bytes] | None:
        """What the client sends: STDIN or RESIZE, and its bytes; CLOSE and the number of the channel that it has
        closed. None when it has gone."""

    async def send(self, channel: int, data: bytes) -> None:
        """STDOUT or STDERR. Returns when more may be sent. Raises `ConnectionError`."""

    async def end(self, status: Manifest) -> None:
        """Tells the end, and closes. Raises `ConnectionError`."""


class WebSocketChannels:
    def __init__(self, wire: WebSocket, protocol: str) -> None:
        self._wire, self._closes = wire, protocol == V5

    async def receive(self) -> tuple[int, bytes] | None:
        message = await self._wire.read()
        if not message or (message[0] == CLOSE and not self._closes):
            return None
        return message[0], message[1:]

    async def send(self, channel: int, data: bytes) -> None:
        await self._wire.write(bytes((channel,)) + data)

    async def end(self, status: Manifest) -> None:
        await self._wire.write(bytes((ERROR,)) + msgspec.json.encode(status))
        await self._wire.close()


async def run_session(session: Session, channels: Channels, asked: StreamRequest, *, attached: bool = False) -> None:
    """Until the program has ended and all is told, or the client has gone.

    `attached`: as of a kubelet, the end of attach is a success, whatever the container's program ended with."""
    sending = asyncio.create_task(_send(session, channels, list_outputs(asked)))
    receiving = asyncio.create_task(_receive(session, channels))
    try:
        await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            receiving.result()
            return
        ended = sending.result()
        # Who closes a WebSocket reads on until the client has closed too, and two cannot read.
        await end_tasks(receiving)
        await channels.end(build_end(Ended(0, ended.message) if attached else ended))
    finally:
        await end_tasks(sending, receiving)


async def _send(session: Session, channels: Channels, wanted: Collection[int]) -> Ended:
    """All outputs. The end, when there are no more. Raises `ConnectionError`."""
    try:
        while (output := await session.read()) is not None:
            if output[0] in wanted:
                await channels.send(*output)
        return await session.wait()
    except ConnectionError:
        raise
    except (ApiError, OSError) as error:
        return Ended(0, str(error))


def list_outputs(asked: StreamRequest) -> frozenset[int]:
    """The channels of the outputs that a client wants. A terminal has one output."""
    channels = {STDOUT: asked.stdout, STDERR: asked.stderr and not asked.tty}
    return frozenset(channel for channel, wanted in channels.items() if wanted)


async def _receive(session: Session, channels: Channels) -> None:
    sizes = b""
    while (message := await channels.receive()) is not None:
        channel, data = message
        if channel == STDIN and data:
            await session.write(data)
        elif channel == CLOSE and data[:1] == bytes((STDIN,)):
            session.close_input()
        elif channel == RESIZE:
            found, sizes = read_sizes(sizes + data)
            for size in found[-1:]:
                session.resize(size)


def read_sizes(data: bytes) -> tuple[list[Size], bytes]:
    """The sizes of a terminal in what a client has sent by RESIZE, and the bytes of one that is not complete. What is
    no size is passed over, as kubelets do, and of much only the end is read: the last size is the terminal's."""
    data = data[-_MOST_RESIZE:]
    objects = list(_OBJECT.finditer(data))
    rest = data[objects[-1].end() :] if objects else data
    sizes = [size for each in objects if (size := _read_size(each.group())) is not None]
    return sizes, rest


def _read_size(data: bytes) -> Size | None:
    try:
        read = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):  # ValueError: bytes that are no UTF-8
        return None
    width, height = read.get("Width"), read.get("Height")
    is_size = all(type(side) is int and 0 < side <= _MOST_SIDE for side in (width, height))
    return Size(width, height) if is_size else None
