"""Connections to ports of a pod, in each of their three forms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.embedded import Http
from apiserver.programs import Programs, serving
from apiserver.spdy_client import SpdyClient, connect_spdy
from apiserver.test_exec import PATH, UPGRADE, V4
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.streaming import wires
from paddock.apiserver.streaming.spdy import Data, Frame, Ping, RstStream, SynStream
from paddock.kube.pod_streams import read_port
from support.waiting import until

FORWARD = f"{PATH}/portforward"
PROTOCOL = "portforward.k8s.io"
TUNNEL = f"SPDY/3.1+{PROTOCOL}"
ECHO, TALK, MUTE, CLOSED = 80, 81, 82, 83


@pytest.fixture
async def programs() -> AsyncIterator[Programs]:
    """Its pod has a port that echoes, one that says something and closes, and one that reads nothing."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()
        writer.write(b"end")
        writer.close()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async def be_mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.transport.abort()

    over = asyncio.Event()
    made = Programs()
    servers = [await asyncio.start_server(each, "127.0.0.1", limit=4096) for each in (echo, talk, be_mute)]
    for port, server in zip((ECHO, TALK, MUTE), servers, strict=True):
        made.ports[port] = server.sockets[0].getsockname()[1]
    yield made
    over.set()
    for server in servers:
        server.close()


@pytest.fixture
async def server(widgets: LocalApi, programs: Programs, tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(widgets, programs, tmp_path) as started:
        yield started


async def connect(server: Server) -> SpdyClient:
    status, _, client = await connect_spdy(server, FORWARD, PROTOCOL)
    assert (status, client.protocol) == (101, PROTOCOL)
    return client


async def open_pair(client: SpdyClient, port: int | str, request: str = "") -> tuple[int, int]:
    """The numbers of its streams, `error` and `data`. kubectl opens them in this order."""
    named = {"port": str(port), **({"requestid": request} if request else {})}
    error = await client.open(streamtype="error", **named)
    data = await client.open(streamtype="data", **named)
    await client.send(Data(error, b"", fin=True))
    return error, data


@pytest.mark.parametrize("request_id", ["7", ""])
async def test_bytes_go_both_ways_and_each_side_may_end(server: Server, programs: Programs, request_id: str) -> None:
    client = await connect(server)
    error, data = await open_pair(client, ECHO, request_id)
    await client.send(Data(data, b"one"))
    await client.until(lambda: client.got[data] == b"one")
    await client.send(Data(data, b"two", fin=True))
    await client.until(lambda: {error, data} <= client.finished)
    assert client.got == {data: b"onetwoend", error: b""}
    assert client.replied == {error, data}
    client.close()


async def test_a_pod_that_closes_first_ends_the_streams(server: Server, programs: Programs) -> None:
    client = await connect(server)
    error, data = await open_pair(client, TALK, "1")
    await client.until(lambda: {error, data} <= client.finished)
    assert client.got == {data: b"hello", error: b""}
    await client.send(Data(data, b"late"))
    again, more = await open_pair(client, TALK, "2")
    await client.until(lambda: {again, more} <= client.finished)
    client.close()


async def test_many_connections_share_one(server: Server) -> None:
    client = await connect(server)
    pairs = [await open_pair(client, ECHO, str(number)) for number in range(100)]
    for _, data in pairs:
        await client.send(Data(data, b"x" * data, fin=True))
    await client.until(lambda: {number for pair in pairs for number in pair} <= client.finished)
    assert all(client.got[data] == b"x" * data + b"end" for _, data in pairs)
    client.close()


async def test_who_does_not_listen_is_told_and_others_go_on(server: Server) -> None:
    client = await connect(server)
    _, kept = await open_pair(client, ECHO, "1")
    error, data = await open_pair(client, CLOSED, "2")
    await client.until(lambda: {error, data} <= client.finished)
    said = client.got[error].decode()
    assert said.startswith(f"error forwarding port {CLOSED} to pod p, uid ")
    assert said.endswith(f": nobody listens on port {CLOSED}")
    error, data = await open_pair(client, "http", "3")
    await client.until(lambda: {error, data} <= client.finished)
    assert client.got[error] == b"unable to parse port of 'http'"
    await client.send(Data(kept, b"on", fin=True))
    await client.until(lambda: client.got[kept] == b"onend")
    client.close()


async def test_a_client_that_resets_a_stream_ends_its_connection_alone(server: Server, programs: Programs) -> None:
    client = await connect(server)
    error, data = await open_pair(client, MUTE, "1")
    await until(lambda: len(programs.connections) == 1)
    _, kept = await open_pair(client, ECHO, "2")
    await client.send(Data(kept, b"x"))
    await client.until(lambda: client.got[kept] == b"x")
    await client.send(RstStream(data))
    await client.until(lambda: error in client.finished)
    assert client.got[error] == b""
    await asyncio.wait_for(programs.connections[0].closed.wait(), 60)
    assert not programs.connections[1].closed.is_set()
    client.close()
    await asyncio.wait_for(programs.connections[1].closed.wait(), 60)


async def test_streams_that_are_none_of_a_forward_are_reset(server: Server) -> None:
    client = await connect(server)
    wrong = await client.open(streamtype="stdin", port="80")
    first = await client.open(streamtype="data", port="80", requestid="1")
    twice = await client.open(streamtype="data", port="80", requestid="1")
    await client.until(lambda: {wrong, twice} <= client.reset)
    assert first not in client.reset
    for number in (first, twice + 3):  # one that was used, and one of a server's
        await client.send(SynStream(number, {"streamtype": "error", "requestid": "new"}))
    await client.until(lambda: {first, twice + 3} <= client.reset)
    client.close()


async def test_pings_are_answered_and_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "PING_SECONDS", 0.05)
    client = await connect(server)
    await client.send(Ping(7))
    await client.until(lambda: {7, 2, 4} <= set(client.pings))
    client.close()


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff" * 100, bytes(100)])
async def test_garbage_closes_this_connection_alone(
    server: Server, programs: Programs, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    kept, client = await connect(server), await connect(server)
    client.writer.write(garbage)
    while await client.receive():
        pass
    _, data = await open_pair(kept, ECHO, "1")
    await kept.send(Data(data, b"x", fin=True))
    await kept.until(lambda: kept.got[data] == b"xend")
    kept.close()
    assert not caplog.records


async def test_what_a_pod_does_not_read_is_not_kept(server: Server) -> None:
    """The client can send no more when the buffers on the way are full."""
    client = await connect(server)
    _, data = await open_pair(client, MUTE, "1")
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 200:  # 200 MiB
            async with asyncio.timeout(1):
                await client.send(Data(data, bytes(2**20)))
            sent += 1
    assert sent < 50
    client.close()


# Within a WebSocket


class Tunnel(SpdyClient):
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        super().__init__(None, None)  # type: ignore[arg-type]

    async def send(self, frame: Frame) -> None:
        await self._socket.send_bytes(self._bytes.write(frame))

    async def receive(self) -> bool:
        message = await asyncio.wait_for(self._socket.receive(), 60)
        if message.type is not aiohttp.WSMsgType.BINARY:
            return False
        for frame in self._frames.feed(message.data):
            self._take(frame)
        return True


async def connect_socket(http: Http, protocol: str, query: str = "") -> aiohttp.ClientWebSocketResponse:
    headers = {"Authorization": f"Bearer {http.server.token}"}
    url = f"{http.server.url}{FORWARD}{query}"
    socket = await http.session.ws_connect(url, protocols=[protocol] if protocol else [], headers=headers)
    assert (socket.protocol or "") == protocol
    return socket


async def test_the_newer_kubectl_sends_the_same_frames_in_messages(http: Http, programs: Programs) -> None:
    client = Tunnel(await connect_socket(http, TUNNEL))
    error, data = await open_pair(client, ECHO, "1")
    await client.send(Data(data, b"one", fin=True))
    await client.until(lambda: {error, data} <= client.finished)
    assert client.got == {data: b"oneend", error: b""}
    _, data = await open_pair(client, MUTE, "2")
    await client.until(lambda: data in client.replied)
    await until(lambda: len(programs.connections) == 2)
    await client._socket.close()
    await asyncio.wait_for(programs.connections[1].closed.wait(), 60)


async def test_a_message_to_a_port_is_bounded(http: Http) -> None:
    """The Python client sends 1 MiB at most."""
    socket = await connect_socket(http, V4, f"?ports={ECHO}")
    data = bytes(2**20)
    await socket.send_bytes(b"\0" + data)
    got = 0
    while got < 2 + len(data):
        message = await asyncio.wait_for(socket.receive(), 60)
        got += len(message.data) - 1 if message.data[0] == 0 else 0
    await socket.send_bytes(b"\0" + data + data)
    while (await asyncio.wait_for(socket.receive(), 60)).type is aiohttp.WSMsgType.BINARY:
        pass
    assert socket.closed


# Channels


async def read_channels(socket: aiohttp.ClientWebSocketResponse) -> dict[int, bytes]:
    got: dict[int, bytes] = {}
    while (message := await asyncio.wait_for(socket.receive(), 60)).type is aiohttp.WSMsgType.BINARY:
        got[message.data[0]] = got.get(message.data[0], b"") + message.data[1:]
    return got


@pytest.mark.parametrize("protocol", [V4, pytest.param("", id="no protocol is named, as by kr8s")])
@pytest.mark.parametrize("query", [f"?ports={TALK}&ports={CLOSED}", f"?ports={TALK},{CLOSED}"])
async def test_each_port_has_two_channels_that_begin_with_its_number(http: Http, query: str, protocol: str) -> None:
    socket = await connect_socket(http, protocol, query)
    got = await read_channels(socket)
    assert (got[0], got[1], got[2]) == (bytes((TALK, 0)) + b"hello", bytes((TALK, 0)), bytes((CLOSED, 0)))
    assert got[3].startswith(bytes((CLOSED, 0)) + f"error forwarding port {CLOSED} to pod p".encode())
    assert socket.close_code == 1000


async def test_bytes_go_both_ways_on_channels(http: Http, programs: Programs) -> None:
    socket = await connect_socket(http, V4, f"?ports={ECHO}&ports={MUTE}")
    await socket.send_bytes(b"\x00one")
    await socket.send_bytes(b"\x01ignored")
    await socket.send_bytes(b"\x09ignored")
    got: dict[int, bytes] = {}
    while got.get(0) != bytes((ECHO, 0)) + b"one":
        message = await asyncio.wait_for(socket.receive(), 60)
        got[message.data[0]] = got.get(message.data[0], b"") + message.data[1:]
    await socket.close()
    for connection in programs.connections:
        await asyncio.wait_for(connection.closed.wait(), 60)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", 'query parameter "ports" is required'),
        ("?ports=x", "invalid port 'x' in the query: a port is a number from 1 to 65535"),
        ("?ports=0", "invalid port '0'"),
        ("?ports=65536", "invalid port '65536'"),
        ("?" + "&".join(["ports=80"] * 101), "101 ports are asked for, of 100"),
    ],
)
async def test_ports_that_are_none_are_refused(http: Http, query: str, said: str) -> None:
    headers = UPGRADE | {"Sec-WebSocket-Protocol": V4}
    status, body, _ = await http.ask("GET", f"{FORWARD}{query}", headers=headers)
    assert (status, body["reason"]) == (400, "BadRequest")
    assert said in body["message"]


@given(st.text(max_size=8))
def test_a_port_is_a_number(text: str) -> None:
    port = read_port(text)
    assert port is None or (1 <= port <= 65535 and int(text) == port)


@given(st.integers(1, 65535))
def test_each_port_is_read(port: int) -> None:
    assert read_port(str(port)) == port
