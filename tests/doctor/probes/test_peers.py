"""Ports of peers, on loopback: servers that answer, close, hang, are late, and tell the time."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import formatdate

import pytest

from paddock.doctor.host.endpoints import read_endpoint
from paddock.doctor.host.peers import Answer
from paddock.doctor.host.values import Interface
from paddock.doctor.probes import ports
from paddock.doctor.probes.bounded import run_bounded
from paddock.doctor.probes.packets import ask_time, read_time
from paddock.doctor.probes.peers import ask_peers, choose_size
from paddock.doctor.probes.ports import ask_page, probe_port, read_clock


@asynccontextmanager
async def serve(answer: bytes | None, *, late: float = 0.0, reads: bool = True) -> AsyncIterator[int]:
    """A server at a port of loopback. None: it closes at once."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if answer is not None and reads:
                await reader.readline()
            await asyncio.sleep(late)
            writer.write(answer or b"")
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@contextmanager
def listen() -> Iterator[int]:
    """A port whose program never accepts: the kernel does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    with listen() as port:
        return port


async def test_a_port_that_waits_is_open() -> None:
    with listen() as port:
        found = [await probe_port("127.0.0.1", port) for _ in range(3)]
    assert {probe.answer for probe in found} == {Answer.OPEN}
    assert min(probe.milliseconds for probe in found) < 100, "without the time for which it is watched"


async def test_a_port_that_speaks_first_is_open() -> None:
    async with serve(b"SSH-2.0-test\r\n", reads=False) as port:
        assert (await probe_port("127.0.0.1", port)).answer is Answer.OPEN


async def test_a_port_that_closes_at_once_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_SETTLE", 60.0)  # this process is the server, too
    async with serve(None) as port:
        assert (await probe_port("127.0.0.1", port)).answer is Answer.CLOSED_AT_ONCE


async def test_a_port_without_a_program_refuses() -> None:
    assert (await probe_port("127.0.0.1", closed_port())).answer is Answer.REFUSED


async def test_a_full_backlog_is_silent() -> None:
    """The machine is there, and its program takes no connection any more."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        held = []
        for _ in range(3):
            each = socket.socket()
            each.setblocking(False)
            each.connect_ex(server.getsockname())
            held.append(each)
        started = time.monotonic()
        probe = await probe_port("127.0.0.1", server.getsockname()[1])
        for each in held:
            each.close()
    assert probe.answer is Answer.SILENT and time.monotonic() - started < 30, "the kernel tries for minutes"


async def test_a_page_tells_the_time() -> None:
    begun = time.time()
    head = f"HTTP/1.1 200 OK\r\nDate: {formatdate(begun + 60, usegmt=True)}\r\n\r\n".encode()
    async with serve(head) as port:
        probe, clock = await ask_page("127.0.0.1", "localhost", port)
    assert probe.answer is Answer.OPEN and clock is not None
    assert abs(clock.offset - 60) <= 0.5 + time.time() - begun and clock.source == "HTTP"


async def test_a_late_page_has_its_milliseconds() -> None:
    async with serve(b"HTTP/1.1 200 OK\r\n\r\n", late=0.2) as port:
        probe, clock = await ask_page("127.0.0.1", "localhost", port)
    assert probe.answer is Answer.OPEN and probe.milliseconds >= 200 and clock is None


async def test_a_program_that_never_answers_is_mute() -> None:
    with listen() as port:
        probe, _ = await ask_page("127.0.0.1", "localhost", port)
    assert probe.answer is Answer.MUTE


@pytest.mark.parametrize(
    ("head", "is_known"),
    [
        ("HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 12:00:00 GMT\r\n", True),
        ("date:Mon, 23 Nov 2026 12:00:00 GMT", True),
        ("HTTP/1.1 200 OK\r\n", False),
        ("Date: yesterday", False),
        ("", False),
    ],
)
def test_the_date_of_a_head(head: str, is_known: bool) -> None:
    noon = 1795435200.0
    clock = read_clock(head, noon + 7, noon + 8)
    assert (clock is not None) is is_known
    if clock is not None:
        assert clock.offset == -7.0 and clock.uncertainty == 1.0


def test_a_clock_by_ntp() -> None:
    """A server that answers as chrony does, whose clock is 90 s behind."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer() -> None:
            asked, sender = server.recvfrom(512)
            there = time.time() - 90 + 2208988800
            stamp = struct.pack("!II", int(there), 0)
            server.sendto(bytes([0x24, 2]) + bytes(22) + asked[40:48] + stamp + stamp, sender)

        begun = time.time()
        thread = threading.Thread(target=answer)
        thread.start()
        clock = ask_time("127.0.0.1", server.getsockname()[1])
        thread.join()
    assert clock is not None and clock.source == "NTP"
    took = time.time() - begun
    assert abs(clock.offset + 90) < 1 + took and clock.uncertainty < 1 + took


@pytest.mark.parametrize("answer", [b"", b"x" * 48, bytes([0x24]) + bytes(47)])
def test_other_answers_are_no_time(answer: bytes) -> None:
    assert read_time(answer, b"12345678", 0.0, 1.0) is None


def test_nobody_serves_the_time() -> None:
    assert ask_time("127.0.0.1", 9) is None


async def test_peers_are_asked_at_once_and_this_machine_only_for_what_a_person_names() -> None:
    with listen() as port:
        endpoints = [
            read_endpoint(f"127.0.0.1:{port}"),
            read_endpoint("localhost"),
            read_endpoint("no-such-name.invalid"),
            read_endpoint("127.0.0.1:6170", "PADDLE_TRAINER_ENDPOINTS"),
        ]
        named, bare, unknown, told = await ask_peers(endpoints, [Interface("lo", ("127.0.0.1",), 65536)])
    assert [each.answer for each in named.probes] == [Answer.OPEN]
    assert (bare.probes, told.probes, bare.address) == ((), (), "127.0.0.1")
    assert (unknown.address, unknown.probes, unknown.is_found) == ("", (), True)


@pytest.mark.parametrize(
    ("sentence", "mtu", "segment", "size"),
    [
        ("both have 1500", 1500, 1448, 1500),
        ("large frames here alone: TCP keeps to the other's", 9000, 1448, 1500),
        ("large frames on both", 9000, 8948, 9000),
        ("a tunnel at the other end", 1500, 1348, 1400),
        ("no port is open, so nothing is known of the other", 9000, 0, 1500),
        ("a tunnel here, and no port is open", 1400, 0, 1400),
    ],
)
def test_the_size_of_packets_is_what_tcp_would_send(sentence: str, mtu: int, segment: int, size: int) -> None:
    assert choose_size(mtu, segment) == size, sentence


async def test_the_limit_of_open_files_is_as_before() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 300), before[1]))
    try:
        await ask_peers([read_endpoint("localhost")], [])
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[0], 300)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_call_that_blocks_is_left_behind_in_time() -> None:
    release = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            await run_bounded(release.wait, 0.1)
    finally:
        release.set()


async def test_a_call_gives_its_result_and_its_error() -> None:
    assert await run_bounded(lambda: 7, 5) == 7
    with pytest.raises(KeyError):
        await run_bounded(lambda: {}[1], 5)  # type: ignore[index]
