"""The webhook over TLS: reviews, probes, bodies that are none, a certificate that changes while it serves."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from paddock.app.health import Address, CannotServe
from paddock.app.webhook import Options, run_webhook
from paddock.kube.meta import Manifest
from paddock.serving.server import LIMITS, Limits
from paddock.webhook.certificates import Certificate, make_certificate
from paddock.webhook.server import LARGEST, SECONDS, Server, answer
from support.waiting import until
from webhook.cluster import Cluster
from webhook.jobs import REVIEW, make, negative, of_the_operator

CERTIFICATE = make_certificate(("a.b.svc",), datetime.fromtimestamp(time.time(), UTC))


class Opened:
    def __init__(self, port: int, trusted: str, session: aiohttp.ClientSession) -> None:
        self.port, self._session = port, session
        self.trust(trusted)

    def trust(self, pem: str) -> None:
        self._context = ssl.create_default_context(cadata=pem)

    async def ready(self) -> bool:
        try:
            return (await self.ask("/readyz"))[0] == 200
        except aiohttp.ClientConnectorCertificateError:
            return False

    async def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        url = f"https://127.0.0.1:{self.port}{path}"
        method = "GET" if body is None else "POST"
        async with self._session.request(method, url, data=body, ssl=self._context, headers=headers) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def opened(
    unready: str = "", certificate: Certificate = CERTIFICATE, limits: Limits = LIMITS, seconds: float = SECONDS
) -> AsyncIterator[tuple[Server, Opened]]:
    server = Server("127.0.0.1", 0, lambda: unready, limits=limits, seconds=seconds)
    server.load(certificate)
    await server.start()
    connector = aiohttp.TCPConnector(force_close=True)
    try:
        async with aiohttp.ClientSession(connector=connector) as session:
            yield server, Opened(server.port, certificate.pem, session)
    finally:
        await server.stop()


def body(**changes: object) -> bytes:
    return json.dumps(REVIEW | {"request": REVIEW["request"] | changes}).encode()


async def test_a_review_is_answered() -> None:
    async with opened() as (_, client):
        code, text = await client.ask("/review", body(object=make(negative)))
        response = json.loads(text)["response"]
        assert (code, response["uid"], response["allowed"]) == (200, "1", False)
        assert response["status"]["message"].startswith("spec.worker.replicas: found -1")


@pytest.mark.parametrize(
    ("sent", "code"),
    [(b"", 400), (b"{}", 400), (b"[" * 200_000, 400), (b"\xff", 400), (b"x" * (LARGEST + 1), 413)],
    ids=["empty", "no review", "deep", "no text", "large"],
)
async def test_a_bad_body_is_the_askers_fault_and_the_next_is_answered(sent: bytes, code: int) -> None:
    async with opened() as (_, client):
        assert (await client.ask("/review", sent))[0] == code
        assert (await client.ask("/review", body()))[0] == 200


async def test_an_encoded_body_is_not_unpacked() -> None:
    async with opened() as (_, client):
        assert (await client.ask("/review", b"\x1f\x8b" + b"x" * 100, **{"Content-Encoding": "gzip"}))[0] == 400


@pytest.mark.parametrize("half", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["silent", "half a handshake"])
async def test_connections_that_never_ask_keep_no_review_out(half: bytes) -> None:
    async with opened(limits=Limits(connections=16, head=600.0)) as (server, client), AsyncExitStack() as held:
        readers = []
        for _ in range(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            held.callback(lambda each=writer: each.transport.abort())
            writer.write(half)
            readers.append(reader)
        assert (await client.ask("/review", body()))[0] == 200
        await until(lambda: sum(reader.at_eof() or reader.exception() is not None for reader in readers) >= 44)
        assert await client.ask("/healthz") == (200, "ok\n")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("clients", "sent"), [(40, 0), (40, 50), (14, LARGEST - 1)])
@pytest.mark.slow
async def test_half_bodies_keep_no_review_out_and_who_leaves_within_one_is_no_error(
    clients: int, sent: int, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(cadata=CERTIFICATE.pem)
    async with opened(seconds=600) as (_, client), AsyncExitStack() as held:
        for _ in range(clients):
            opening = asyncio.open_connection("127.0.0.1", client.port, ssl=context, server_hostname="a.b.svc")
            _, writer = await opening
            held.callback(lambda each=writer: each.transport.abort())
            writer.write(b"POST /review HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (sent + 100))
            writer.write(b"x" * sent)
            await writer.drain()
            assert (await client.ask("/review", body()))[0] == 200
    assert not caplog.records


@pytest.mark.parametrize(("why", "code"), [("", 200), ("not yet", 503)])
async def test_probes(why: str, code: int) -> None:
    async with opened(why) as (_, client):
        assert await client.ask("/healthz") == (200, "ok\n")
        assert await client.ask("/readyz") == (code, f"{why or 'ok'}\n")


def test_a_bug_in_a_review_lets_the_job_through_and_only_the_log_has_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: object) -> Manifest:
        raise ZeroDivisionError("secret")

    text = answer(body(object=make(negative)), fail).decode()
    response = json.loads(text)["response"]
    assert (response["allowed"], len(response["warnings"])) == (True, 1)
    assert "secret" not in text
    assert "Traceback" not in text
    assert caplog.records[0].exc_info is not None


async def test_another_certificate_is_served_without_a_restart() -> None:
    other = make_certificate(("a.b.svc",), datetime.fromtimestamp(time.time(), UTC))
    async with opened() as (server, client):
        assert (await client.ask("/healthz"))[0] == 200
        server.load(other)
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.ask("/healthz")
        client.trust(other.pem)
        assert (await client.ask("/healthz"))[0] == 200


def options(port: int = 0) -> Options:
    return Options("paddle-webhook", "paddle-webhook", "paddle-system", Address("127.0.0.1", port))


async def test_the_process_is_ready_when_its_certificate_is_in_the_bundle_and_ends_in_order() -> None:
    cluster, stop = Cluster(), asyncio.Event()
    where: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(run_webhook(cluster, options(), stop, where.set_result))
    address = await where
    async with aiohttp.ClientSession() as session:
        await until(lambda: Opened(address.port, cluster.bundle or CERTIFICATE.pem, session).ready())
        client = Opened(address.port, cluster.bundle, session)
        assert json.loads((await client.ask("/review", body()))[1])["response"]["allowed"] is True
        beside = body(object=make(of_the_operator), namespace="paddle-system")
        assert json.loads((await client.ask("/review", beside))[1])["response"]["allowed"] is False
    stop.set()
    await running


async def test_an_address_that_is_taken_is_told_with_what_to_do() -> None:
    async with opened() as (server, _):
        with pytest.raises(CannotServe) as raised:
            await run_webhook(Cluster(), options(server.port), asyncio.Event())
    assert "Address already in use. Choose another address with --bind-address" in str(raised.value.args[0])
