"""Kept connections: how an answer ends, and what happens when a server closes one."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import uvloop

from paddock.client.pool import Answer, CannotConnect, Disconnected, Pool, build_head, read_address
from support.waiting import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SILENCE = b"-"


class Server:
    """Answers the requests of each connection with the next of `answers`; an empty one closes the connection,
    `SILENCE` is none."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self.answers = list(answers)
        self.heads: list[str] = []
        self.connections = 0
        self.silent = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                answer = self.answers.pop(0)
                if answer is SILENCE:
                    self.silent.set()
                    continue
                writer.write(answer)
                if not answer or b"Connection: close" in answer:
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()


@asynccontextmanager
async def served(*answers: bytes, limit: int = 8) -> AsyncIterator[tuple[Server, Pool]]:
    server = Server(answers)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    pool = Pool(read_address(f"http://127.0.0.1:{port}"), limit=limit)
    try:
        yield server, pool
    finally:
        pool.close()
        listening.close()


async def ask(pool: Pool, method: str = "GET") -> Answer:
    return await pool.send(method, build_head(pool.address, method, "/api", {}, [], None), None, None)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nlon\r\n2\r\nge\r\n0\r\n\r\n", b"longe"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nContent-Encoding: gzip\r\n\r\n", b"no"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(b"a" * 99))
         + gzip.compress(b"a" * 99), b"a" * 99),
    ],
    ids=["a length", "chunks", "a provisional answer before", "no body", "the end of the connection",
         "nothing until then", "a trailer", "compressed"],
)  # fmt: skip
async def test_an_answer_is_read_to_its_end(answer: bytes, body: bytes) -> None:
    async with served(answer, OK) as (_, pool):
        assert (await ask(pool)).body == body
        assert (await ask(pool)).body == b"ok", "and the next one by itself"


async def test_a_connection_is_used_again_and_no_more_are_open_than_the_limit() -> None:
    async with served(*[OK] * 20, limit=2) as (server, pool):
        await asyncio.gather(*(ask(pool) for _ in range(20)))
        assert server.connections <= 2


@pytest.mark.parametrize(("method", "again"), [("GET", True), ("DELETE", True), ("POST", False), ("PATCH", False)])
async def test_a_kept_connection_that_the_server_has_closed_is_replaced_where_that_changes_nothing(
    method: str, again: bool
) -> None:
    async with served(OK, b"", OK) as (server, pool):
        await ask(pool)
        if again:
            assert (await ask(pool, method)).body == b"ok"
        else:
            with pytest.raises(Disconnected):
                await ask(pool, method)
        assert server.connections == (2 if again else 1)


async def test_a_new_connection_that_ends_without_an_answer_is_not_tried_again() -> None:
    async with served(b"", OK) as (server, pool):
        with pytest.raises(Disconnected):
            await ask(pool)
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: spdy\r\n\r\nabc",
    ],
)
async def test_what_is_no_answer_of_http_ends_the_connection(answer: bytes) -> None:
    async with served(answer, OK) as (server, pool):
        with pytest.raises(ConnectionError):
            await ask(pool)
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2


@pytest.mark.parametrize("more", [b"HTTP/1.1 500 No\r\nDate: x\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 50", b"junk"])
async def test_what_follows_an_answer_is_not_part_of_one(more: bytes) -> None:
    async with served(OK + more, OK) as (server, pool):
        answer = await ask(pool)
        assert (answer.status, answer.headers, answer.body) == (200, {"content-length": "2"}, b"ok")
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2


async def test_an_answer_that_the_pool_has_cut_off_is_none() -> None:
    async with served(b"HTTP/1.1 200 OK\r\n\r\nhalf") as (_, pool):
        asking = asyncio.create_task(ask(pool))
        await until(lambda: _has_part(pool))
        pool.close()
        with pytest.raises(Disconnected):
            await asking


async def _has_part(pool: Pool) -> bool:
    return any(wire._chunks for wire in pool._wires)


async def test_a_request_that_is_given_up_takes_its_connection_with_it() -> None:
    """Its answer may come later, and would be taken for that of the next request."""
    async with served(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nlate", OK) as (server, pool):
        asking = asyncio.create_task(ask(pool))
        await until(lambda: _has_part(pool))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2


async def test_a_pool_that_is_closed_asks_for_nothing_again() -> None:
    """A GET is asked anew where the server has closed its kept connection; here the pool has."""
    async with served(OK, SILENCE, OK) as (server, pool):
        await ask(pool)
        asking = asyncio.create_task(ask(pool))
        await server.silent.wait()
        pool.close()
        with pytest.raises(Disconnected):
            await asking
        assert server.connections == 1
        with pytest.raises(Disconnected):
            await ask(pool)
        assert server.connections == 1
        assert not pool._wires


async def test_a_connection_that_is_made_while_the_pool_is_closed_is_not_kept() -> None:
    async with served(OK) as (server, pool):
        asking = asyncio.create_task(ask(pool))
        await asyncio.sleep(0)
        pool.close()
        with pytest.raises(Disconnected):
            await asking
        await asyncio.sleep(0)
        assert (server.heads, pool._wires) == ([], set())


async def test_where_nothing_listens_nothing_was_asked() -> None:
    async with served() as (_, pool):
        pass
    with pytest.raises(CannotConnect):
        await ask(Pool(pool.address, limit=1))


@pytest.mark.parametrize("host", ["a" * 70, "a..example"])
async def test_a_host_that_is_no_name_of_one_is_not_connected_to(host: str) -> None:
    with pytest.raises(CannotConnect, match=host):
        await ask(Pool(read_address(f"http://{host}"), limit=1))


class _TwoAddresses(asyncio.SelectorEventLoop):
    """The first address of each host is a silent one: its backlog is full, so the kernel drops what comes."""

    silent: int

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", each)) for each in (self.silent, port)]


async def _ask_once(host: str) -> bytes:
    async with asyncio.timeout(60), served(OK) as (_, pool):  # far less than the kernel tries for
        pool.address = replace(pool.address, host=host)
        return (await ask(pool)).body


def test_an_address_that_does_not_answer_does_not_hold_up_the_next_one() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, socket.socket() as first:
        first.connect(silent.getsockname())
        loop = _TwoAddresses()
        loop.silent = silent.getsockname()[1]
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            assert runner.run(_ask_once("of.two.addresses")) == b"ok"


def test_an_event_loop_of_uvloop_connects_too() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(_ask_once("127.0.0.1")) == b"ok"


def test_a_head_has_the_prefix_of_the_server_and_its_query_encoded() -> None:
    address = read_address("https://proxy.example/k8s/c-1/")
    head = build_head(address, "GET", "/api/v1/pods", {"labelSelector": "a in (b,c)"}, [("Accept", "x")], None)
    first, host, *_ = head.decode().split("\r\n")
    assert first == "GET /k8s/c-1/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29 HTTP/1.1"
    assert host == "Host: proxy.example"
    assert (address.port, address.name) == (443, "proxy.example")


@pytest.mark.parametrize("token", ["a\r\nX-Remote-User: admin", "a\nb", "a\0"])
def test_no_header_can_begin_another_line(token: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        build_head(read_address("http://x"), "GET", "/", {}, [("Authorization", token)], None)


def test_an_address_of_ip_version_6_is_read() -> None:
    address = read_address("https://[::1]:6443", "kubernetes")
    assert (address.host, address.port, address.authority, address.name) == ("::1", 6443, "[::1]:6443", "kubernetes")
