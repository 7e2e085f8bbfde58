"""port-forward: real connections, to programs of pods and to nobody else's."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator

import pytest

from node.cluster import PYTHON, Cluster, container
from node.streams.talking import begin, open_streams, run_pod
from paddock.kube.errors import BadRequest, TooManyRequests
from paddock.kube.meta import PODS
from paddock.node.streams import connections
from paddock.node.streams.connections import Ask, Looks, PodConnection
from paddock.node.streams.listeners import Found, Listener, fetch_listeners
from paddock.node.streams.node_streams import POD_CONNECTIONS, NodeStreams
from support.loopback import has_ipv6
from support.waiting import until

SERVER = """
import os, socket, sys
kind, address, port = sys.argv[1:4]
if kind == "inherited":
    server = socket.socket(fileno=int(port))
else:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.create_server((address, int(port)), family=family, dualstack_ipv6=address == "::")
if kind == "bare":
    if os.fork():
        os.wait()
    server.set_inheritable(True)
    words = [sys.executable, "-c", os.environ["SERVER"], "inherited", address, str(server.fileno())]
    os.execve(sys.executable, words, {})
while True:
    client = server.accept()[0]
    data = client.makefile("rb").read()
    client.sendall(data.upper())
    client.close()
"""


@pytest.fixture
async def streams(cluster: Cluster) -> AsyncIterator[NodeStreams]:
    streams = open_streams(cluster)
    yield streams
    await streams.close()


def find_port() -> int:
    with socket.create_server(("0.0.0.0", 0)) as server:
        return int(server.getsockname()[1])


async def talk(streams: NodeStreams, found: dict[str, object], port: int, data: bytes) -> bytes:
    connection = await streams.connect(found, port)
    try:
        writing = asyncio.create_task(connection.write(data))
        await writing
        connection.write_eof()
        answer = b""
        while piece := await connection.read():
            assert len(piece) <= 65536
            answer += piece
        return answer
    finally:
        await connection.close()


@pytest.mark.parametrize("kind", ["own", "bare"])
async def test_a_program_answers_wherever_it_listens(cluster: Cluster, streams: NodeStreams, kind: str) -> None:
    """Also a process that has shed its variables (bare)."""
    env = [
        {"name": "OWN", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "SERVER", "value": SERVER},
    ]
    addresses = ["$(OWN)", "127.0.0.1", "0.0.0.0", *(["::", "::1"] if has_ipv6() else [])]
    for index, address in enumerate(addresses):
        port = find_port()
        command = container(PYTHON, "-c", SERVER, kind, address, str(port), env=env)
        found = await run_pod(cluster, command, name=f"p{index}")
        data = os.urandom(300_000)
        answer = await until(lambda: try_to_talk(streams, found, port, data))  # noqa: B023 - awaited here
        assert answer == data.upper(), address
    assert streams._connections.total == 0


async def try_to_talk(streams: NodeStreams, found: dict[str, object], port: int, data: bytes) -> bytes:
    try:
        return await talk(streams, found, port, data)
    except ConnectionRefusedError:
        return b""


async def test_nobody_elses_port_is_reached(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    port = find_port()
    with pytest.raises(ConnectionRefusedError, match=f"nothing in pod p listens on port {port}$"):
        await streams.connect(found, port)
    for address in ("0.0.0.0", "127.0.0.1"):
        with socket.create_server((address, 0)) as server:
            port = server.getsockname()[1]
            said = (
                f"nothing in pod p listens on port {port}: {re.escape(address)}:{port} of this machine is held by "
                rf"process {os.getpid()} \(.+\)$"
            )
            with pytest.raises(PermissionError, match=said):
                await streams.connect(found, port)
    port = find_port()
    other = await run_pod(cluster, container(PYTHON, "-c", SERVER, "own", "0.0.0.0", str(port)), name="other")
    await until(lambda: try_to_talk(streams, other, port, b"x"))
    with pytest.raises(PermissionError, match=rf"0\.0\.0\.0:{port} of this machine is held by process \d+ \(python"):
        await streams.connect(found, port)


async def test_a_program_of_exec_is_the_pods_too(cluster: Cluster, streams: NodeStreams) -> None:
    found, port = await run_pod(cluster), find_port()
    session = await begin(streams, found, PYTHON, "-c", SERVER, "own", "127.0.0.1", str(port))
    assert await until(lambda: try_to_talk(streams, found, port, b"abc")) == b"ABC"
    await session.close()


async def test_a_pod_has_so_many_connections_and_an_ended_one_none(cluster: Cluster, streams: NodeStreams) -> None:
    port = find_port()
    listen = f"import socket, time; s = socket.create_server(('', {port}), backlog=500); time.sleep(600)"
    found = await run_pod(cluster, container(PYTHON, "-c", listen))
    connections = [await until(lambda: try_to_connect(streams, found, port))]
    connections += await asyncio.gather(*(streams.connect(found, port) for _ in range(POD_CONNECTIONS - 1)))
    with pytest.raises(TooManyRequests, match="pod p has 200 forwarded connections, the most at a time for a pod"):
        await streams.connect(found, port)
    await asyncio.gather(*(connection.close() for connection in connections))
    assert streams._connections.total == 0
    await cluster.api.delete(PODS, "default", "p", grace=0)
    await until(lambda: not list(cluster.kubelet.list_running()) if cluster.kubelet else True)
    with pytest.raises(BadRequest, match="container main of pod p does not run now"):
        await streams.connect(found, port)


async def try_to_connect(streams: NodeStreams, found: dict[str, object], port: int) -> object:
    try:
        return await streams.connect(found, port)
    except ConnectionRefusedError:
        return None


async def test_many_who_ask_at_once_cost_two_looks_at_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    scanned: list[int] = []

    def count_reads() -> list[Listener]:
        read.append(1)
        return fetch_listeners()

    def count_scans() -> list[int]:
        scanned.append(1)
        return [os.getpid()]

    monkeypatch.setattr(connections, "fetch_listeners", count_reads)
    monkeypatch.setattr(connections.processes, "list_processes", count_scans)
    looks, free = Looks(), find_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        asks = [Ask(f"uid-{number % 50}", "127.9.9.9", port, frozenset({os.getpid()})) for number in range(200)]
        nobodys = [Ask(f"uid-{number}", "127.9.9.9", port, frozenset()) for number in range(200)]
        closed = [Ask(f"uid-{number}", "127.9.9.9", free, frozenset()) for number in range(200)]
        found = await asyncio.gather(*(looks.find(ask) for ask in (*asks, *closed)))
        assert {each.found.address for each in found[:200]} == {"127.0.0.1"}
        assert {each.found for each in found[200:]} == {Found()}
        found = await asyncio.gather(*(looks.find(ask) for ask in nobodys))
        assert {each.found.address for each in found} == {""}
        assert all(f"process {os.getpid()} (" in each.holder for each in found)
    assert (len(read) <= 4, len(scanned) <= 4) == (True, True)


async def test_who_asks_later_is_answered_by_a_later_look() -> None:
    looks, port = Looks(), find_port()
    ask = Ask("uid", "127.9.9.9", port, frozenset({os.getpid()}))
    first = asyncio.create_task(looks.find(ask))
    gone = asyncio.create_task(looks.find(ask))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await first).found == Found()
    with socket.create_server(("127.0.0.1", port)):
        assert (await looks.find(ask)).found.address == "127.0.0.1"


async def test_a_look_that_fails_fails_those_who_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, ask = Looks(), Ask("uid", "127.9.9.9", find_port(), frozenset())

    def fail() -> list[Listener]:
        raise OSError("no more descriptors")

    with monkeypatch.context() as patch:
        patch.setattr(connections, "fetch_listeners", fail)
        with pytest.raises(OSError, match="no more descriptors"):
            await looks.find(ask)
    assert (await looks.find(ask)).found == Found()


async def test_a_connection_to_who_reads_nothing_ends_and_counts_until_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_GOODBYE_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as server:
        reader, writer = await asyncio.open_connection(*server.getsockname())
        writer.transport.set_write_buffer_limits(65536)
        accepted = server.accept()[0]
        open_when_counted_off: list[bool] = []
        descriptor = writer.get_extra_info("socket").fileno()
        connection = PodConnection(reader, writer, lambda: open_when_counted_off.append(is_socket(descriptor)))
        # Much more than the system keeps for who does not read.
        writing = asyncio.create_task(connection.write(bytes(50_000_000)))
        await until(lambda: writer.transport.get_write_buffer_size() > 65536)
        assert writer.transport.get_write_buffer_size() < 300_000
        writing.cancel()
        async with asyncio.timeout(60):
            await connection.close()
        assert open_when_counted_off == [False]
        accepted.close()


def is_socket(descriptor: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    except OSError:
        return False
