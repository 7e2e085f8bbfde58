"""exec and attach: the channels of WebSockets, and what is refused before them."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from apiserver.embedded import Http, pod
from apiserver.programs import Programs, create, running_pod, serving
from apiserver.spdy_client import EXEC_PROTOCOLS, connect_spdy
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.streaming import wires
from paddock.apiserver.streaming.server import CLIENT_SECONDS
from paddock.apiserver.streaming.sessions import read_sizes
from paddock.apiserver.streaming.spdy import Data
from paddock.kube.meta import PODS
from paddock.kube.pod_streams import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, Ended, Size, read_end
from support.waiting import rest, until

PATH = "/api/v1/namespaces/default/pods/p"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"


@pytest.fixture
def programs() -> Programs:
    return Programs()


@pytest.fixture
async def server(widgets: LocalApi, programs: Programs, tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(widgets, programs, tmp_path) as started:
        yield started


class Client:
    """One exec or attach by a WebSocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.got = {channel: bytearray() for channel in (STDOUT, STDERR, ERROR)}

    async def send(self, channel: int, data: bytes) -> None:
        await self.socket.send_bytes(bytes((channel,)) + data)

    async def until(self, channel: int, data: bytes) -> None:
        while data not in self.got[channel]:
            assert await self._receive(), self.got

    async def finish(self) -> Ended:
        while await self._receive():
            pass
        return read_end(json.loads(self.got[ERROR]))

    async def _receive(self) -> bool:
        message = await asyncio.wait_for(self.socket.receive(), 60)
        if message.type is not aiohttp.WSMsgType.BINARY:
            return False
        self.got[message.data[0]] += message.data[1:]
        return True


async def connect(http: Http, path: str, *command: str, protocol: str = V5, **query: Any) -> Client:
    words = {"stdout": "true", "stderr": "true", **query}
    url = URL(f"{http.server.url}{path}").with_query([*words.items(), *(("command", word) for word in command)])
    headers = {"Authorization": f"Bearer {http.server.token}"}
    return Client(await http.session.ws_connect(url, protocols=[protocol], headers=headers, max_msg_size=0))


@pytest.mark.parametrize("protocol", [V5, V4])
async def test_a_program_runs_and_its_outputs_and_its_end_are_told(http: Http, protocol: str) -> None:
    client = await connect(http, f"{PATH}/exec", "sh", "-c", "echo out; echo err >&2; exit 7", protocol=protocol)
    assert client.socket.protocol == protocol
    assert await client.finish() == Ended(7)
    assert (client.got[STDOUT], client.got[STDERR]) == (b"out\n", b"err\n")
    assert client.socket.close_code == 1000


async def test_a_client_of_version_5_has_time_to_make_its_streams(http: Http, programs: Programs) -> None:
    """kubectl 1.30 to 1.33 loses what is sent before."""
    client = await connect(http, f"{PATH}/exec", "echo", "out")
    assert await client.finish() == Ended()
    (session,) = programs.sessions
    assert session.asked_at is not None and session.asked_at - session.made_at >= CLIENT_SECONDS


async def test_a_program_that_could_not_be_started_is_told_with_its_code(http: Http) -> None:
    client = await connect(http, f"{PATH}/exec", "nosuch")
    assert await client.finish() == Ended(127, 'exec: "nosuch": executable file not found in $PATH')


async def test_success_is_told(http: Http) -> None:
    client = await connect(http, f"{PATH}/exec", "true")
    assert await client.finish() == Ended()
    assert json.loads(client.got[ERROR]) == {"metadata": {}, "status": "Success"}


async def test_input_is_passed_and_closed(http: Http) -> None:
    client = await connect(http, f"{PATH}/exec", "sh", "-c", "cat; echo end", stdin="true")
    await client.send(STDIN, b"one\n")
    await client.until(STDOUT, b"one\n")
    await client.send(STDIN, b"two\n")
    await client.socket.send_bytes(bytes((CLOSE, STDIN)))
    assert await client.finish() == Ended()
    assert client.got[STDOUT] == b"one\ntwo\nend\n"


async def test_the_size_of_a_terminal_is_passed(http: Http, programs: Programs) -> None:
    client = await connect(http, f"{PATH}/exec", "cat", stdin="true", tty="true")
    assert programs.asked[0].tty
    await client.send(RESIZE, b'{"Width":80,"Height":24}\n')
    await client.send(RESIZE, b"garbage")
    await client.send(RESIZE, b'{"Width":100,"Height":30}\n')
    await client.socket.send_bytes(bytes((CLOSE, STDIN)))
    await client.finish()
    assert programs.sessions[0].sizes == [Size(80, 24), Size(100, 30)]


async def test_attach_shows_what_is_printed_and_succeeds_as_of_a_kubelet(http: Http) -> None:
    client = await connect(http, f"{PATH}/attach", stdin="true")
    await client.send(STDIN, b"in\n")
    await client.until(STDOUT, b"in\n")
    await client.socket.send_bytes(bytes((CLOSE, STDIN)))
    assert await client.finish() == Ended()
    assert client.got[STDOUT] == b"in\nseen\n"


async def test_what_is_not_asked_for_is_not_sent(http: Http) -> None:
    client = await connect(http, f"{PATH}/exec", "sh", "-c", "echo out; echo err >&2", stdout="false")
    assert await client.finish() == Ended()
    assert (client.got[STDOUT], client.got[STDERR]) == (b"", b"err\n")
    client = await connect(http, f"{PATH}/exec", "sh", "-c", "echo out; echo err >&2", tty="1")
    assert await client.finish() == Ended()
    assert client.got[STDERR] == b""


# SPDY


def spdy_path(*command: str, attach: bool = False, **query: str) -> str:
    words = {"stdout": "true", "stderr": "true", **query}
    url = URL(f"{PATH}/{'attach' if attach else 'exec'}")
    return str(url.with_query([*words.items(), *(("command", word) for word in command)]))


@pytest.mark.parametrize(
    ("protocols", "chosen"),
    [
        (EXEC_PROTOCOLS, "v4.channel.k8s.io"),
        (("v4.channel.k8s.io, v3.channel.k8s.io",), "v4.channel.k8s.io"),
        (EXEC_PROTOCOLS[1:], "v3.channel.k8s.io"),
        (EXEC_PROTOCOLS[2:], "v2.channel.k8s.io"),
    ],
)
async def test_older_kubectls_exec_by_spdy(server: Server, protocols: tuple[str, ...], chosen: str) -> None:
    path = spdy_path("sh", "-c", "cat; echo err >&2; exit 7", stdin="true")
    status, _, client = await connect_spdy(server, path, *protocols)
    assert (status, client.protocol) == (101, chosen)
    error, stdin, stdout, stderr = [
        await client.open(streamtype=kind) for kind in ("error", "stdin", "stdout", "stderr")
    ]
    await client.send(Data(stdin, b"one\n"))
    await client.until(lambda: client.got[stdout] == b"one\n")
    await client.send(Data(stdin, b"two\n", fin=True))
    await client.until(lambda: {error, stdout, stderr} <= client.finished)
    assert (client.got[stdout], client.got[stderr]) == (b"one\ntwo\n", b"err\n")
    if chosen == "v4.channel.k8s.io":
        assert client.read_status(error) == Ended(7)
    else:
        assert client.got[error] == b"command terminated with non-zero exit code: exit status 7"
    client.close()


async def test_a_terminal_by_spdy_has_a_stream_for_its_size(server: Server, programs: Programs) -> None:
    _, _, client = await connect_spdy(server, spdy_path("cat", stdin="true", tty="true"), *EXEC_PROTOCOLS)
    error, stdin, stdout, resize = [
        await client.open(streamtype=kind) for kind in ("error", "stdin", "stdout", "resize")
    ]
    await client.send(Data(resize, b'{"Width":80,"Hei'))
    await client.send(Data(resize, b'ght":24}\n{"Width":90,"Height":25}\n'))
    await until(lambda: programs.sessions[0].sizes)
    wrong = await client.open(streamtype="stderr")
    await client.until(lambda: wrong in client.reset)
    await client.send(Data(stdin, b"", fin=True))
    await client.until(lambda: {error, stdout} <= client.finished)
    assert programs.sessions[0].sizes[-1] == Size(90, 25)
    client.close()


# Refused


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("exec?stdout=true", 400, "you must specify at least 1 command for the container"),
        ("exec?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("attach", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("exec?command=ls&stdout=maybe", 400, "stdout='maybe' in the query is neither true nor false"),
        ("exec?command=ls&stdout=true&container=nope", 400, "container nope is not valid for pod p: it has main"),
        ("exec?command=ls&stdout=true", 400, "Upgrade request required"),
        ("attach?stdout=true", 400, "Upgrade request required"),
        ("portforward", 400, "Upgrade request required"),
        ("ephemeralcontainers", 405, "`kubectl exec -n default -it p -- sh`"),
        ("ephemeralcontainers", 405, "`paddock shell -n default p`"),
        ("ephemeralcontainers", 405, "`paddock exec -n default p -- ps -ef`"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_is_refused_before_an_upgrade(
    http: Http, programs: Programs, method: str, path: str, code: int, said: str
) -> None:
    status, body, _ = await http.ask(method, f"{PATH}/{path}")
    assert (status, body["kind"], said in body["message"]) == (code, "Status", True), body
    assert not programs.asked


@pytest.mark.parametrize("path", ["exec?command=ls&stdout=true", "attach?stdout=true", "portforward?ports=80"])
async def test_of_which_pods_it_is_refused(http: Http, widgets: LocalApi, programs: Programs, path: str) -> None:
    assert (await http.ask("GET", f"{PATH[:-1]}none/{path}", headers=UPGRADE))[0] == 404
    await widgets.create(PODS, pod("new"), namespace="default")
    status, body, _ = await http.ask("GET", f"{PATH[:-1]}new/{path}", headers=UPGRADE)
    assert (status, body["message"]) == (400, "pod new does not have a host assigned")
    assert (await http.ask("DELETE", f"{PATH}/{path}"))[0] == 405
    assert not programs.asked


async def test_the_node_s_refusal_is_a_status(http: Http, widgets: LocalApi) -> None:
    await create(widgets, running_pod("done", phase="Succeeded"))
    headers = UPGRADE | {"Sec-WebSocket-Protocol": V5}
    path = f"{PATH[:-1]}done/exec?command=ls&stdout=true"
    status, body, _ = await http.ask("GET", path, headers=headers)
    assert (status, body["message"]) == (400, "pod done does not run")
    status, said, _ = await connect_spdy(http.server, path, *EXEC_PROTOCOLS)
    assert (status, json.loads(said)["message"]) == (400, "pod done does not run")


async def test_a_container_that_is_not_named_is_the_node_s_choice(
    http: Http, widgets: LocalApi, programs: Programs
) -> None:
    await create(widgets, running_pod("two", "a", "b"))
    await (await connect(http, f"{PATH[:-1]}two/exec", "true")).finish()
    await (await connect(http, f"{PATH[:-1]}two/exec", "true", container="b")).finish()
    assert [asked.container for asked in programs.asked] == ["", "b"]


@pytest.mark.parametrize("protocol", ["base64.channel.k8s.io", "nonsense", ""])
async def test_other_channels_are_refused_before_anything_runs(http: Http, programs: Programs, protocol: str) -> None:
    headers = UPGRADE | ({"Sec-WebSocket-Protocol": protocol} if protocol else {})
    status, body, _ = await http.ask("GET", f"{PATH}/exec?command=ls&stdout=true", headers=headers)
    said = f"the client offers the subprotocols [{protocol}], server accepts [{V5} {V4}]"
    assert (status, said in body["message"]) == (400, True)
    status, answer, _ = await connect_spdy(http.server, f"{PATH}/exec?command=ls&stdout=true", protocol or "x")
    assert (status, "unable to negotiate protocol" in json.loads(answer)["message"]) == (403, True)
    assert not programs.asked


@pytest.mark.parametrize("changed", [{"Sec-WebSocket-Version": "12"}, {"Sec-WebSocket-Key": "short"}])
async def test_a_handshake_that_is_none_runs_nothing(http: Http, programs: Programs, changed: dict[str, str]) -> None:
    headers = UPGRADE | {"Sec-WebSocket-Protocol": V5} | changed
    assert (await http.ask("GET", f"{PATH}/exec?command=ls&stdout=true", headers=headers))[0] == 400
    assert not programs.asked


async def test_another_upgrade_is_none(server: Server) -> None:
    status, said, _ = await connect_spdy(server, spdy_path("ls"), *EXEC_PROTOCOLS, upgrade="h2c")
    assert (status, json.loads(said)["message"]) == (400, "Upgrade request required")


async def test_without_a_node_nobody_is_let_in(widgets: LocalApi, tmp_path: Path) -> None:
    server = Server(widgets, tmp_path / "cluster")
    await server.start()
    client = Http(server)
    await create(widgets, running_pod())
    status, body, _ = await client.ask("GET", f"{PATH}/exec?command=ls&stdout=true")
    assert (status, body["message"]) == (404, "no node runs pod p: this API server runs without one")
    await client.session.close()
    await server.stop()


# Bounds and ends


async def test_a_client_that_leaves_ends_the_program_at_once(http: Http, programs: Programs, server: Server) -> None:
    client = await connect(http, f"{PATH}/exec", "sleep", "1000", stdin="true")
    await client.socket.close()
    await asyncio.wait_for(programs.sessions[0].closed.wait(), 60)
    client = await connect(http, f"{PATH}/exec", "sleep", "1000", stdin="true")
    assert client.socket._response.connection is not None
    client.socket._response.connection.transport.abort()  # type: ignore[union-attr]
    await asyncio.wait_for(programs.sessions[1].closed.wait(), 60)
    _, _, spdy = await connect_spdy(server, spdy_path("sleep", "1000"), *EXEC_PROTOCOLS)
    for kind in ("error", "stdout", "stderr"):
        await spdy.open(streamtype=kind)
    spdy.writer.transport.abort()
    await asyncio.wait_for(programs.sessions[2].closed.wait(), 60)


async def test_a_client_that_dies_while_its_input_waits_ends_the_program(
    http: Http, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "PING_SECONDS", 0.05)
    client = await connect(http, f"{PATH}/exec", "sleep", "1000", stdin="true")

    async def send() -> None:
        for _ in range(1000):
            await client.send(STDIN, bytes(64 * 1024))

    sending = asyncio.create_task(send())
    await until(lambda: programs.sessions[0].began)
    assert client.socket._response.connection is not None
    client.socket._response.connection.transport.abort()  # type: ignore[union-attr]
    await asyncio.wait_for(programs.sessions[0].closed.wait(), 60)
    sending.cancel()


async def test_a_client_that_does_not_read_holds_the_program_back(http: Http, programs: Programs) -> None:
    client = await connect(http, f"{PATH}/exec", "sh", "-c", "yes | head -c 50000000")
    await until(lambda: programs.sessions[0].read_bytes)
    await rest(lambda: programs.sessions[0].read_bytes)
    assert programs.sessions[0].read_bytes < 20_000_000
    assert await client.finish() == Ended()
    assert len(client.got[STDOUT]) == 50_000_000


@pytest.mark.parametrize("size", [1_000_000, pytest.param(50_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("piece", [32 * 1024, 30_000_000])
async def test_much_input_arrives_whole(http: Http, size: int, piece: int) -> None:
    data = bytes(range(256)) * (size // 256)
    client = await connect(http, f"{PATH}/exec", "sha1sum", stdin="true")
    for begin in range(0, len(data), piece):
        await client.send(STDIN, data[begin : begin + piece])
    await client.socket.send_bytes(bytes((CLOSE, STDIN)))
    assert await client.finish() == Ended()
    assert client.got[STDOUT].split()[0].decode() == hashlib.sha1(data).hexdigest()


async def test_a_program_that_does_not_read_its_input_ends_well(http: Http) -> None:
    client = await connect(http, f"{PATH}/exec", "sh", "-c", "sleep 0.2; echo done", stdin="true")
    sending = asyncio.create_task(client.send(STDIN, bytes(20_000_000)))
    assert await client.finish() == Ended()
    assert client.got[STDOUT] == b"done\n"
    await asyncio.gather(sending, return_exceptions=True)


@pytest.mark.slow
async def test_many_sessions_at_a_time(http: Http, programs: Programs) -> None:
    clients = await asyncio.gather(*(connect(http, f"{PATH}/exec", "cat", stdin="true") for _ in range(200)))
    for number, client in enumerate(clients):
        await client.send(STDIN, f"{number}\n".encode())
    await asyncio.gather(*(client.until(STDOUT, b"\n") for client in clients))
    assert [client.got[STDOUT] for client in clients] == [f"{number}\n".encode() for number in range(200)]
    for client in clients:
        await client.socket.send_bytes(bytes((CLOSE, STDIN)))
    assert set(await asyncio.gather(*(client.finish() for client in clients))) == {Ended()}


async def test_a_session_counts_as_an_open_request_and_stops_with_the_server(
    http: Http, server: Server, programs: Programs, widgets: LocalApi
) -> None:
    client = await connect(http, f"{PATH}/exec", "sleep", "1000")
    _, _, spdy = await connect_spdy(server, spdy_path("sleep", "1000"), *EXEC_PROTOCOLS)
    before = server.last_request
    await asyncio.sleep(0.01)
    assert server.last_request > before
    await server.stop()
    assert [session.closed.is_set() for session in programs.sessions] == [True, True]
    assert (await client.socket.receive()).type is not aiohttp.WSMsgType.BINARY
    while await spdy.receive():
        pass


async def test_garbage_after_an_upgrade_ends_this_session_alone(
    http: Http, server: Server, programs: Programs, caplog: pytest.LogCaptureFixture
) -> None:
    kept = await connect(http, f"{PATH}/exec", "cat", stdin="true")
    _, _, spdy = await connect_spdy(server, spdy_path("sleep", "1000"), *EXEC_PROTOCOLS)
    spdy.writer.write(b"\xff" * 100)
    socket = await connect(http, f"{PATH}/exec", "sleep", "1000")
    assert socket.socket._response.connection is not None
    socket.socket._response.connection.transport.write(b"\xff" * 100)  # type: ignore[union-attr]
    for session in programs.sessions[1:]:
        await asyncio.wait_for(session.closed.wait(), 60)
    for channel in (STDOUT, ERROR, 77):  # no client writes there
        await kept.send(channel, b"x")
    await kept.socket.send_bytes(b"")
    await kept.send(STDIN, b"on\n")
    await kept.until(STDOUT, b"on\n")
    assert not caplog.records


@given(st.lists(st.tuples(st.integers(1, 65535), st.integers(1, 65535)), max_size=5), st.data())
def test_sizes_are_read_however_they_are_cut(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    text = b"".join(json.dumps({"Width": width, "Height": height}).encode() + b"\n" for width, height in sizes)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    found: list[Size] = []
    rest = b""
    for begin, end in itertools.pairwise([0, *cuts, len(text)]):
        read, rest = read_sizes(rest + text[begin:end])
        found += read
    assert found == [Size(*size) for size in sizes]


@given(st.binary(max_size=200))
def test_what_is_no_size_is_passed_over(data: bytes) -> None:
    read_sizes(data)


@pytest.mark.parametrize(
    "text", ['{"Width":0,"Height":1}', '{"Width":70000,"Height":1}', '{"Width":true,"Height":1}', "{}"]
)
def test_sizes_that_no_terminal_has(text: str) -> None:
    assert read_sizes(text.encode()) == ([], b"")


@pytest.mark.parametrize(
    "data",
    [
        b'{"Width":"\xff"}',
        b'{"\xff":1}',
        b'{"Width":' + b"[" * 1000 + b"}",
        b'{"Width":' + b"[" * 1000 + b"]" * 10 + b"}",
    ],
    ids=["text", "name", "deep", "deep and closed"],
)
def test_what_cannot_be_read_is_no_size(data: bytes) -> None:
    assert read_sizes(data) == ([], b"")


def test_of_many_sizes_the_last_are_read() -> None:
    read, rest = read_sizes(b"{}" * 2**20 + b'{"Width":80,"Height":24}' * 1000 + b'{"Wid')
    assert set(read) == {Size(80, 24)}
    assert len(read) < 100
    assert rest == b'{"Wid'
