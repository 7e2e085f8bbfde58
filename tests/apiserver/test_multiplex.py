"""The streams of an SPDY connection, over a wire of memory: what a client that misbehaves costs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from apiserver.embedded import pod
from apiserver.programs import Programs
from paddock.apiserver.streaming.forwards import _Forwards
from paddock.apiserver.streaming.multiplex import MOST_STREAMS, Multiplex, Stream
from paddock.apiserver.streaming.spdy import Data, Frame, RstStream, SynStream, Writer


class MemoryWire:
    """`put` is what the client sends. It reads nothing of what it is sent."""

    def __init__(self) -> None:
        self._bytes = Writer()
        self._sent: asyncio.Queue[bytes] = asyncio.Queue()

    def put(self, *frames: Frame) -> None:
        self.put_bytes(b"".join(self._bytes.write(frame) for frame in frames))

    def put_bytes(self, data: bytes) -> None:
        self._sent.put_nowait(data)

    def end(self) -> None:
        self._sent.put_nowait(b"")

    async def read(self) -> bytes:
        return await self._sent.get()

    async def write(self, data: bytes) -> None: ...

    async def close(self) -> None: ...


SETTINGS = bytes.fromhex("80030004 0000000c 00000001 00000004 00000064")


@pytest.mark.parametrize("frame", [Writer().write(Data(1, b"")), SETTINGS], ids=["empty", "passed over"])
async def test_others_have_their_turn_while_many_frames_come_at_once(frame: bytes) -> None:
    async def take(stream: Stream) -> None: ...

    wire = MemoryWire()
    wire.put(SynStream(1, {}))
    wire.put_bytes(frame * 6400)
    wire.end()
    reading = asyncio.create_task(Multiplex(wire, take).run())
    turns = 0
    while not reading.done():
        turns += 1
        await asyncio.sleep(0)
    await reading
    assert turns >= 100


async def test_of_the_headers_of_a_stream_only_those_are_kept_that_are_read() -> None:
    opened: list[Mapping[str, str]] = []

    async def take(stream: Stream) -> None:
        opened.append(stream.headers)

    wire = MemoryWire()
    wire.put(SynStream(1, {"StreamType": "error", "port": "8" * 60000, "x-more": "x"}))
    wire.end()
    await Multiplex(wire, take).run()
    assert opened == [{"streamtype": "error", "port": "8" * 256}]


async def test_half_a_connection_that_its_client_resets_is_forgotten() -> None:
    wire = MemoryWire()
    forwards = _Forwards(wire, Programs(), pod("p"))
    for number in range(1, 4000, 2):
        wire.put(SynStream(number, {"streamtype": "error", "requestid": str(number)}), RstStream(number))
    wire.put(SynStream(4001, {"streamtype": "error", "requestid": "last"}))
    running = asyncio.create_task(forwards.run())
    async with asyncio.timeout(60):
        while "last" not in forwards._halves or len(forwards._tasks) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert list(forwards._halves) == ["last"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_connections_that_their_client_resets_while_they_begin_are_bounded() -> None:
    """Each is waited for, so its streams being gone makes no room."""

    class Slow(Programs):
        async def connect(self, pod: object, port: int) -> object:  # type: ignore[override]
            return await asyncio.Event().wait()

    wire = MemoryWire()
    forwards = _Forwards(wire, Slow(), pod("p"))
    for number in range(1, 8 * MOST_STREAMS, 4):
        named = {"port": "80", "requestid": str(number)}
        wire.put(SynStream(number, {"streamtype": "error", **named}))
        wire.put(SynStream(number + 2, {"streamtype": "data", **named}))
        wire.put(RstStream(number), RstStream(number + 2))
    wire.end()
    running, most = asyncio.create_task(forwards.run()), 0
    while not running.done():
        most = max(most, len(forwards._tasks))
        await asyncio.sleep(0)
    assert most == MOST_STREAMS
