"""How long a client may take: for a handshake, a head, a body, the next request. The clock is the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.serving.server import LIMITS, Limits
from serving.server import HALF, LARGE, NOW, WATCH, Client, Served, serving, turn
from support.waiting import LoopClock

UPLOAD = b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"


async def pass_time(clock: LoopClock, seconds: float, *, step: float = 1.0) -> None:
    """In small steps, so that what was due comes in its order."""
    for _ in range(round(seconds / step)):
        await clock.advance(step)


def is_closed(client: Client) -> bool:
    return not client.is_open


async def test_half_a_head_is_closed_after_ten_seconds_while_a_watch_and_a_slow_upload_stay() -> None:
    async with serving(LIMITS) as served:
        watching = await served.connect(WATCH)
        await watching.event()
        clock = LoopClock()
        half, upload = await served.connect(HALF), await served.connect(UPLOAD)
        await turn(lambda: served.server.connections == 3 and served.begun == 1)
        await pass_time(clock, 9)
        assert half.is_open
        await pass_time(clock, 2)
        await turn(lambda: is_closed(half))
        for _ in range(5):  # a byte each 18 s
            await pass_time(clock, 18)
            upload.send(b"x")
            await clock.advance(0)
        assert await upload.answer() == b"5"
        served.tick()
        assert await watching.event() == b"event\n"


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n"])
async def test_a_connection_that_says_little_is_closed(sent: bytes) -> None:
    async with serving(LIMITS) as served:
        clock = LoopClock()
        client = await served.connect(sent)
        await turn(lambda: served.server.connections == 1)
        await pass_time(clock, 11)
        await turn(lambda: is_closed(client) and not served.server.connections)


async def test_bytes_that_drip_into_a_head_give_it_no_more_time() -> None:
    async with serving(LIMITS) as served:
        clock = LoopClock()
        client = await served.connect(HALF)
        await turn(lambda: served.server.connections == 1)
        for _ in range(11):
            client.send(b"x")
            await pass_time(clock, 1)
        await turn(lambda: is_closed(client))


async def test_the_head_of_a_further_request_has_its_time_from_its_first_byte() -> None:
    async with serving(LIMITS) as served:
        clock = LoopClock()
        client = await served.connect(NOW)
        assert await client.answer() == b"now"
        await pass_time(clock, 60)
        client.send(HALF)
        await pass_time(clock, 9)
        assert client.is_open
        await pass_time(clock, 2)
        await turn(lambda: is_closed(client))


async def test_half_a_head_behind_a_request_has_its_time_once_that_is_answered() -> None:
    async with serving(LIMITS) as served:
        clock = LoopClock()
        client = await served.connect(b"POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        await turn(lambda: served.begun)
        client.send(HALF)
        await pass_time(clock, 60)
        assert client.is_open
        served.may_read.set()
        assert await client.answer() == b"0"
        await pass_time(clock, 11)
        await turn(lambda: is_closed(client))


async def test_a_connection_between_two_requests_is_kept_for_two_minutes() -> None:
    async with serving(LIMITS) as served:
        clock = LoopClock()
        client = await served.connect(NOW)
        assert await client.answer() == b"now"
        await pass_time(clock, 118)
        assert await client.send(NOW).answer() == b"now"
        await pass_time(clock, 118)
        assert client.is_open
        await pass_time(clock, 3)
        await turn(lambda: is_closed(client))


async def test_a_body_of_which_nothing_comes_is_given_up() -> None:
    async with serving(LIMITS) as served:
        clock = LoopClock()
        client = await served.connect(UPLOAD + b"x")
        await turn(lambda: served.begun)
        await pass_time(clock, 29)
        assert client.is_open
        await pass_time(clock, 2)
        await turn(lambda: is_closed(client))


async def test_a_body_that_the_server_does_not_read_yet_is_not_the_client_s_delay() -> None:
    async with serving(LIMITS, read_bufsize=1024) as served:
        clock = LoopClock()
        client = await served.connect(
            b"POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 4_000_000
        )
        await turn(lambda: served.begun)
        await pass_time(clock, 300)
        assert client.is_open
        served.may_read.set()
        assert await client.answer() == b"4000000"


async def test_a_handshake_that_does_not_end_is_closed(tmp_path: Path) -> None:
    async with serving(LIMITS, tls=tmp_path) as served:
        watching = await served.connect(WATCH)
        await watching.event()
        clock = LoopClock()
        halves = [await served.connect(sent, tls=False) for sent in (b"", b"\x16\x03\x01\x02\x00\x01")]
        await turn(lambda: served.server.connections == 3)
        await pass_time(clock, 11)
        await turn(lambda: all(map(is_closed, halves)) and served.server.connections == 1)
        served.tick()
        assert await watching.event() == b"event\n"


async def test_half_a_head_within_tls_is_closed(tmp_path: Path) -> None:
    async with serving(LIMITS, tls=tmp_path) as served:
        client = await served.connect(HALF)
        clock = LoopClock()
        await pass_time(clock, 11)
        await turn(lambda: is_closed(client) and not served.server.connections)


async def test_an_answer_that_is_not_read_is_kept_while_there_are_places() -> None:
    async with serving(Limits(connections=2)) as served:
        clock = LoopClock()
        slow = await stall(served)
        await pass_time(clock, 300)
        assert slow.is_open
        clock_free = await served.connect(NOW)
        assert await clock_free.answer() == b"now"


async def stall(served: Served) -> Client:
    """A client that asks for 16 MiB and reads nothing."""
    client = await served.connect()
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    client.send(LARGE)
    await turn(lambda: served.server.connections == 1)
    return client
