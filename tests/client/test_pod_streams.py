"""exec, attach and port-forward over a WebSocket: channels, the end of a program, refusals, a broken connection."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from client.tls_server import make_certificate, serve
from paddock.client.client import Client
from paddock.client.kubeconfig import Config
from paddock.client.pod_streams import RemoteSession, build_query, open_attach, open_exec, open_port
from paddock.kube.errors import BadRequest, Forbidden, NotFound, Unauthorized, Unavailable
from paddock.kube.pod_streams import STDERR, STDOUT, Ended, Size, StreamRequest
from support.streaming import V4, V5, Streamed, stream

ANY = StreamRequest(command=("train",))


async def read_all(session: RemoteSession) -> list[tuple[int, bytes]]:
    found = []
    while (output := await session.read()) is not None:
        found.append(output)
    return found


async def run_to_end(session: RemoteSession) -> tuple[list[tuple[int, bytes]], Ended]:
    try:
        return await read_all(session), await session.wait()
    finally:
        await session.close()


@pytest.mark.parametrize(
    ("request_", "query"),
    [
        (StreamRequest("main", ("sh", "-c", "a; b")), [("command", "sh"), ("command", "-c"), ("command", "a; b"),
         ("container", "main"), ("stdin", "false"), ("stdout", "true"), ("stderr", "true"), ("tty", "false")]),
        (StreamRequest(command=("bash",), stdin=True, tty=True), [("command", "bash"), ("stdin", "true"),
         ("stdout", "true"), ("stderr", "false"), ("tty", "true")]),
        (StreamRequest(), [("stdin", "false"), ("stdout", "true"), ("stderr", "true"), ("tty", "false")]),
    ],
)  # fmt: skip
def test_the_query_is_that_of_kubernetes(request_: StreamRequest, query: list[tuple[str, str]]) -> None:
    assert build_query(request_) == query


async def test_a_program_has_its_words_its_outputs_and_its_exit_code(tmp_path: Path) -> None:
    seen: list[web.Request] = []

    async def program(run: Streamed) -> None:
        seen.append(run.request)
        await run.print("out\n")
        await run.print(b"\xff\x00", STDERR)
        await run.print("")  # kubelets open each channel by an empty message
        await run.end(3)
        await run.print("late\n")  # each channel has a sender of its own

    command = ("sh", "-c", "a; b & c + d=1 #%41\n秒")
    async with serve(stream(program), tmp_path) as config, Client(config) as client:
        session = await open_exec(client, "team", "demo-worker-0", StreamRequest(command=command))
        outputs, ended = await run_to_end(session)
    assert outputs == [(STDOUT, b"out\n"), (STDERR, b"\xff\x00"), (STDOUT, b"late\n")]
    assert ended == Ended(3)
    assert seen[0].path == "/api/v1/namespaces/team/pods/demo-worker-0/exec"
    assert tuple(seen[0].query.getall("command")) == command
    assert ";" not in seen[0].rel_url.raw_query_string  # Go refuses one
    assert seen[0].headers["Authorization"] == "Bearer secret"
    assert "*/*" in seen[0].headers["Accept"]  # a kubelet answers 406 to one who takes JSON alone


@pytest.mark.parametrize("protocol", [V5, V4])
async def test_input_is_passed_and_its_end_where_the_protocol_can_tell_it(tmp_path: Path, protocol: str) -> None:
    offered: list[str] = []

    async def cat(run: Streamed) -> None:
        offered.append(run.request.headers["Sec-WebSocket-Protocol"])
        held = b""
        while (data := await run.stdin.get()) is not None and not data.endswith(b"."):
            held += data
        await run.print(f"{len(held)} {held[:2]!r} {'closed' if data is None else 'open'}")
        await run.end()

    async with serve(stream(cat, protocol), tmp_path) as config, Client(config) as client:
        session = await open_exec(client, "n", "p", replace(ANY, stdin=True))
        await session.write(b"ab" * 50_000)
        assert session.can_close_input is (protocol == V5)
        session.close_input()
        if protocol == V4:
            await session.write(b".")
        outputs, ended = await run_to_end(session)
    assert outputs == [(STDOUT, b"100000 b'ab' " + (b"closed" if protocol == V5 else b"open"))]
    assert (ended, offered) == (Ended(), [f"{V5},{V4}"])


async def test_sizes_come_in_their_order(tmp_path: Path) -> None:
    async def program(run: Streamed) -> None:
        sizes = [await run.sizes.get() for _ in range(3)]
        await run.print(repr(sizes))
        await run.end()

    async with serve(stream(program), tmp_path) as config, Client(config) as client:
        session = await open_attach(client, "n", "p", StreamRequest(tty=True))
        for width in (80, 81, 120):
            session.resize(Size(width, 24))
        outputs, _ = await run_to_end(session)
    assert outputs == [(STDOUT, b"[(80, 24), (81, 24), (120, 24)]")]


async def test_a_connection_that_is_lost_tells_no_exit_code(tmp_path: Path) -> None:
    async def dies(run: Streamed) -> None:
        await run.print("begun")
        assert run.request.transport is not None
        run.request.transport.close()

    async with serve(stream(dies), tmp_path) as config, Client(config) as client:
        session = await open_exec(client, "n", "p", ANY)
        assert await read_all(session) == [(STDOUT, b"begun")]
        with pytest.raises(Unavailable, match="lost before the program had ended"):
            await session.wait()
        await session.close()


async def test_a_server_that_leaves_the_connection_open_behind_the_end_holds_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.client.pod_streams.END_SECONDS", 0.01)

    async def stays(run: Streamed) -> None:
        await run.end(7)
        await asyncio.Event().wait()

    async with serve(stream(stays), tmp_path) as config, Client(config) as client:
        assert await run_to_end(await open_exec(client, "n", "p", ANY)) == ([], Ended(7))


async def test_what_is_no_status_is_told_as_it_is(tmp_path: Path) -> None:
    async def program(run: Streamed) -> None:
        await run.print("runtime gone", 3)

    async with serve(stream(program), tmp_path) as config, Client(config) as client:
        assert await run_to_end(await open_exec(client, "n", "p", ANY)) == ([], Ended(1, "runtime gone"))


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (web.json_response({"reason": "Forbidden", "message": 'User "u" cannot get resource "pods/exec"'}, status=403),
         Forbidden, 'User "u" cannot get resource "pods/exec"'),
        (web.json_response({"reason": "NotFound", "message": 'pods "p" not found'}, status=404), NotFound, "not found"),
        (web.json_response({"reason": "BadRequest", "message": "container x is not valid for pod p"}, status=400),
         BadRequest, "container x is not valid"),
        (web.Response(status=502, text="<html>bad gateway"), Exception, "the server answered 502: <html>bad gateway"),
        (web.Response(text="hello"), Unavailable, "answered 200 where it was to open a WebSocket"),
        (web.Response(status=101), Unavailable, "opened no WebSocket"),
    ],
)  # fmt: skip
async def test_a_refusal_is_told_in_the_servers_words(
    tmp_path: Path, answer: web.Response, error: type[Exception], text: str
) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return answer

    async with serve(refuse, tmp_path) as config, Client(config) as client:
        with pytest.raises(error, match=text.replace("(", r"\(")):
            await open_exec(client, "n", "p", ANY)


async def test_nobody_there_is_told_with_the_address() -> None:
    async with Client(Config(server="http://127.0.0.1:1", source="the file")) as client:
        with pytest.raises(Unavailable, match=r"nothing answers at http://127.0.0.1:1 \(the file\)"):
            await open_exec(client, "n", "p", ANY)


async def test_a_token_that_is_refused_is_read_again_once(tmp_path: Path) -> None:
    token, seen = tmp_path / "token", []
    token.write_text("old")

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        if seen[-1] != "Bearer new":
            token.write_text("new" if len(seen) == 1 else "newer")
            return web.json_response({"reason": "Unauthorized", "message": "no"}, status=401)
        return await stream(lambda run: run.end(4))(request)

    async with serve(handle, tmp_path) as config:
        async with Client(replace(config, token="", token_file=token)) as client:
            assert await run_to_end(await open_exec(client, "n", "p", ANY)) == ([], Ended(4))
        async with Client(replace(config, token="wrong")) as client:
            with pytest.raises(Unauthorized):
                await open_exec(client, "n", "p", ANY)
    assert seen == ["Bearer old", "Bearer new", "Bearer wrong"]


async def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    path, ours = make_certificate(tmp_path / "client")
    key = path.read_text().removeprefix(ours)
    async with serve(stream(lambda run: run.end(5)), tmp_path, clients=ours) as config:
        async with Client(replace(config, token="", certificate=ours, key=key)) as client:
            assert await run_to_end(await open_exec(client, "n", "p", ANY)) == ([], Ended(5))
        async with Client(config) as client:
            with pytest.raises(Unavailable):
                await open_exec(client, "n", "p", ANY)


async def test_a_port_is_one_connection_behind_its_number(tmp_path: Path) -> None:
    asked = []

    async def forward(run: Streamed) -> None:
        asked.append((run.request.path, run.request.query.getall("ports"), run.socket.ws_protocol))
        number = struct.pack("<H", 8080)
        for channel in (0, 1):
            await run.print(number, channel)
        await run.print(b"", 0)
        data = await run.stdin.get()
        await run.print(b"<" + (data or b"") + b">", 0)

    async with serve(stream(forward, V4), tmp_path) as config, Client(config) as client:
        port = await open_port(client, "n", "p", 8080)
        await port.write(b"\xff\x00hello")
        port.write_eof()
        assert (await port.read(), await port.read()) == (b"<\xff\x00hello>", b"")
        await port.close()
        await port.close()
    assert asked == [("/api/v1/namespaces/n/pods/p/portforward", ["8080"], V4)]


async def test_why_a_port_is_not_reached_is_the_nodes_sentence(tmp_path: Path) -> None:
    async def refuse(run: Streamed) -> None:
        for channel in (0, 1):
            await run.print(struct.pack("<H", 1), channel)
        await run.print("connection refused\n", 1)

    async with serve(stream(refuse, V4), tmp_path) as config, Client(config) as client:
        port = await open_port(client, "n", "p", 1)
        with pytest.raises(OSError, match=r"^connection refused$"):
            await port.read()
        await port.close()


async def test_a_proxy_is_asked_to_connect(tmp_path: Path) -> None:
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        serve(stream(lambda run: run.end()), tmp_path) as config,
        Client(replace(config, proxy=f"http://127.0.0.1:{port}")) as client,
    ):
        with pytest.raises(Unavailable):
            await open_exec(client, "n", "p", ANY)
    assert asked == [f"CONNECT {config.server.removeprefix('https://')} HTTP/1.1\r\n".encode()]
