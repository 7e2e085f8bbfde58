"""How many connections there may be, and which of them gives way to a new one; in both event loops."""

from __future__ import annotations

import errno
import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from paddock.serving.server import Limits, bind
from serving.loops import in_both_loops
from serving.server import HALF, LARGE, NOW, WATCH, Client, Served, serving
from support.waiting import until

FEW = Limits(connections=64)


@pytest.mark.parametrize("half", [b"", HALF, b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"])
@in_both_loops
async def test_two_hundred_halves_keep_nobody_out(half: bytes) -> None:
    async with serving(FEW) as served:
        watching = await served.connect(WATCH)
        await watching.event()
        for _ in range(200):
            await served.connect(half)
        assert await served.ask() == b"now"
        assert served.server.connections <= 64
        served.tick()
        assert await watching.event() == b"event\n"


@pytest.mark.parametrize("half", [b"", b"\x16\x03\x01\x02\x00\x01"])
@in_both_loops
async def test_two_hundred_half_handshakes_keep_nobody_out(half: bytes, tmp_path: Path) -> None:
    async with serving(FEW, tls=tmp_path) as served:
        watching = await served.connect(WATCH)
        await watching.event()
        for _ in range(200):
            await served.connect(half, tls=False)
        assert await served.ask() == b"now"
        assert served.server.connections <= 64
        served.tick()
        assert await watching.event() == b"event\n"


@in_both_loops
async def test_halves_from_as_many_addresses_of_this_machine_keep_out_nobody_who_has_two_connections() -> None:
    async with serving(FEW) as served:
        for each in range(100):
            await served.connect(HALF, source=f"127.1.0.{each}")
        browser = [await served.connect(HALF) for _ in range(2)]
        for each in range(40):
            await served.connect(HALF, source=f"127.2.0.{each}")
        assert [await client.send(b"\r\n\r\n").answer() for client in browser] == [b"now", b"now"]
        assert served.server.connections <= 64


@in_both_loops
async def test_those_who_were_answered_and_stay_keep_nobody_out() -> None:
    async with serving(FEW) as served:
        idle = [await served.connect(NOW) for _ in range(64)]
        for client in idle:
            assert await client.answer() == b"now"
        newcomers = [await served.connect() for _ in range(8)]
        for client in newcomers:
            assert await client.send(NOW).answer() == b"now"
        assert await idle[-1].send(NOW).answer() == b"now"  # the oldest of the idle ones have gone
        assert all([await client.ended() for client in idle[:8]])


@in_both_loops
async def test_an_answer_that_nobody_reads_gives_way() -> None:
    async with serving(Limits(connections=4)) as served:
        for _ in range(4):
            await stall(served)
        await until(lambda: served.begun == 4)
        assert await served.ask() == b"now"


@in_both_loops
async def test_where_all_are_being_answered_a_new_one_is_refused_at_once_and_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(Limits(connections=4)) as served:
        watching = [await served.connect(WATCH) for _ in range(4)]
        await until(lambda: served.watches == 4)
        with caplog.at_level(logging.WARNING, "paddock.serving"):
            for _ in range(10):
                assert await (await served.connect(NOW)).ended()
        assert [each.getMessage() for each in caplog.records] == [
            "all 4 connections are in use: a new one was refused"
        ]  # once a minute
        watching[0].writer.close()
        await until(lambda: served.watches == 3)
        assert await served.ask() == b"now"


@in_both_loops
async def test_requests_on_one_connection_and_behind_one_another_are_answered() -> None:
    async with serving(FEW) as served:
        client = await served.connect(NOW * 40)
        assert [await client.answer() for _ in range(40)] == [b"now"] * 40
        upload = b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000
        client.send(upload * 2 + NOW)
        assert [await client.answer() for _ in range(3)] == [b"200000", b"200000", b"now"]
        assert served.server.connections == 1


@in_both_loops
async def test_tls_keeps_a_connection_too(tmp_path: Path) -> None:
    async with serving(FEW, tls=tmp_path) as served:
        client = await served.connect(NOW)
        assert await client.answer() == b"now"
        assert await client.send(NOW + NOW).answer() == b"now"
        assert await client.answer() == b"now"
        assert served.server.connections == 1


@in_both_loops
async def test_who_leaves_has_no_place(tmp_path: Path) -> None:
    async with serving(FEW, tls=tmp_path) as served:
        clients = [await served.connect(sent, tls=tls) for sent, tls in ((HALF, True), (b"x", False), (NOW, True))]
        for client in clients:
            client.writer.transport.abort()
        await until(lambda: not served.server.connections)


class Exhausted(socket.socket):
    """A listening socket of a process that has no descriptor left, `times` times."""

    times = 3

    def accept(self) -> Any:
        if self.times:
            self.times -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


@in_both_loops
async def test_without_a_descriptor_it_waits_a_little_and_accepts_again(caplog: pytest.LogCaptureFixture) -> None:
    served = Served(limits=FEW)
    listening = Exhausted()
    listening.bind(("127.0.0.1", 0))
    await served.server.start_on([listening])
    try:
        assert await served.ask() == b"now"
        assert not listening.times
        assert "no connection can be accepted: Too many open files" in caplog.text
    finally:
        await served.close()


@in_both_loops
async def test_a_server_that_stops_frees_its_port_and_ends_what_is_half_open(tmp_path: Path) -> None:
    async with serving(FEW, tls=tmp_path) as served:
        halves = [await served.connect(b"\x16", tls=False), await served.connect(HALF)]
        watching = await served.connect(WATCH)
        await watching.event()
        port = served.server.port
        await served.server.stop()
        assert all([await client.ended() for client in (*halves, watching)])
        for each in await bind("127.0.0.1", port):
            each.close()


@in_both_loops
async def test_every_address_of_the_machine_has_one_port() -> None:
    bound = await bind(None, 0)
    assert len({each.getsockname()[1] for each in bound}) == 1
    for each in bound:
        each.close()


@in_both_loops
async def test_an_address_that_is_taken_raises_and_leaves_nothing() -> None:
    async with serving(FEW) as served:
        with pytest.raises(OSError) as error:
            await Served(limits=FEW).server.start("127.0.0.1", served.server.port)
        assert error.value.errno == errno.EADDRINUSE


async def stall(served: Served) -> Client:
    """A client that asks for 16 MiB and reads nothing."""
    client = await served.connect()
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    return client.send(LARGE)
