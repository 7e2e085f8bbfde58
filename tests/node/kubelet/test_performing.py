"""What comes of the actions of probes and hooks, against real servers of this process."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from paddock.apiserver.http.certificates import make_certificates
from paddock.kube.errors import TooManyRequests
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import STDERR, STDOUT, Connection, Ended, Session, Size, StreamRequest
from paddock.node.kubelet.actions import Action, Exec, HttpGet, Impossible, Sleep, TcpConnect
from paddock.node.kubelet.performing import NotDone, Outcome, Ran, perform, run_by_streams, run_nothing

POD: Manifest = {"metadata": {"name": "p"}}


async def do(action: Action, seconds: float | None = 60, *, judges: bool = True) -> Outcome:
    return await perform(action, POD, "main", run_nothing, seconds, judges=judges)


async def answer(request: web.Request) -> web.StreamResponse:
    match request.path:
        case "/there":
            raise web.HTTPFound("/good")
        case "/elsewhere":
            raise web.HTTPFound("http://127.9.9.9:1/")
        case "/round":
            raise web.HTTPFound("/round")
        case "/bad":
            return web.Response(status=503)
        case "/large":
            return web.Response(body=b"x" * 5_000_000)
        case "/slow":
            await asyncio.sleep(3600)
        case "/headers":
            good = request.headers.getall("X-A") == ["1", "2"] and request.headers["User-Agent"] == "me"
            return web.Response(status=200 if good else 400)
    return web.Response()


@asynccontextmanager
async def serve(context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("path", "judges", "good", "text"),
    [
        ("/good", True, True, ""),
        ("/bad", True, False, "HTTP probe failed with statuscode: 503"),
        ("/bad", False, True, ""),  # a hook is done when it is answered
        ("/there", True, True, ""),
        ("/elsewhere", True, True, ""),  # no probe follows to another host
        ("/large", True, True, ""),
        ("/headers", True, True, ""),
        ("/round", True, False, 'Get "{url}": stopped after 10 redirects'),
    ],
)
async def test_an_answer_over_http(path: str, judges: bool, good: bool, text: str) -> None:
    async with serve() as base:
        url = f"{base}{path}"
        action = HttpGet(url, (("User-Agent", "me"), ("X-A", "1"), ("X-A", "2")))
        assert await do(action, judges=judges) == Outcome(good, text.format(url=url))


async def test_a_certificate_is_not_verified(tmp_path: Path) -> None:
    context = make_certificates(tmp_path, time.time()).context()
    async with serve(context) as base:
        assert await do(HttpGet(f"{base}/good")) == Outcome(True)


async def test_who_does_not_answer_has_failed_in_time() -> None:
    async with serve() as base:
        said = f'Get "{base}/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        assert await do(HttpGet(f"{base}/slow"), 0.05) == Outcome(False, said)


async def test_connections() -> None:
    async with serve() as base:
        port = int(base.rpartition(":")[2])
        assert await do(TcpConnect("127.0.0.1", port)) == Outcome(True)
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert await do(TcpConnect("127.0.0.1", port)) == Outcome(False, refused)
    assert await do(HttpGet(f"{base}/")) == Outcome(False, f'Get "{base}/": {refused}')


async def test_a_sleep_and_what_cannot_be_done() -> None:
    assert await do(Sleep(0.01)) == Outcome(True)
    assert await do(Sleep(3600), 0.01) == Outcome(False, "timed out after 0.01s")
    for action in (Impossible("no port"), Exec(("true",))):
        with pytest.raises(NotDone):
            await do(action)


class Streams:
    """Of a node: one program with these outputs and this end."""

    def __init__(self, *outputs: tuple[int, bytes], ended: Ended | None = None) -> None:
        self.outputs, self.ended, self.closed = list(outputs), ended, False

    async def exec(self, pod: Manifest, request: StreamRequest) -> Session:
        if request.command == ("too", "many"):
            raise TooManyRequests("50 sessions")
        return self

    async def attach(self, pod: Manifest, request: StreamRequest) -> Session:
        raise NotImplementedError

    async def connect(self, pod: Manifest, port: int) -> Connection:
        raise NotImplementedError

    async def read(self) -> tuple[int, bytes] | None:
        return self.outputs.pop(0) if self.outputs else None

    async def write(self, data: bytes) -> None: ...

    def close_input(self) -> None: ...

    def resize(self, size: Size) -> None: ...

    async def wait(self) -> Ended:
        if self.ended is None:
            await asyncio.sleep(3600)
        assert self.ended is not None
        return self.ended

    async def close(self) -> None:
        self.closed = True


async def test_a_command_runs_by_the_streams_of_the_node_and_leaves_nothing() -> None:
    streams = Streams((STDOUT, b"out "), (STDERR, b"err\xff"), ended=Ended(3))
    assert await run_by_streams(lambda: streams.exec)(POD, "main", ("x",)) == Ran(3, "out err\ufffd")
    assert streams.closed
    large = Streams(*[(STDOUT, b"x" * 65536)] * 4, ended=Ended(0))
    assert len((await run_by_streams(lambda: large.exec)(POD, "main", ("x",))).output) == 10240
    with pytest.raises(NotDone, match="50 sessions"):
        await run_by_streams(lambda: streams.exec)(POD, "main", ("too", "many"))


async def test_a_command_that_is_out_of_time_is_ended() -> None:
    streams = Streams()
    found = await perform(Exec(("sleep", "9")), POD, "main", run_by_streams(lambda: streams.exec), 0.01, judges=True)
    assert found == Outcome(False, 'command timed out: "sleep 9" timed out after 0.01s')
    assert streams.closed


@pytest.mark.parametrize(("host", "port"), [("x" * 64 + ".local", 80), ("127.0.0.1", 199_999)])
async def test_an_address_that_can_be_none_has_failed(host: str, port: int) -> None:
    found = await do(TcpConnect(host, port))
    assert not found.good and found.text.startswith(f"dial tcp {host}:{port}: ")
