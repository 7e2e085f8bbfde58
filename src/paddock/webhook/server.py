"""The webhook's HTTPS server: `/review`, `/healthz` and `/readyz` on one port.

Nobody proves who he is: an answer holds nothing but what its asker sent. What one can ask for is bounded instead.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec
from aiohttp import web

from paddock.install.webhook import PATH
from paddock.kube.meta import Manifest
from paddock.serving.open_files import read_connection_limit
from paddock.serving.server import LIMITS, HttpServer, Limits
from paddock.webhook.bodies import Bodies
from paddock.webhook.certificates import Certificate
from paddock.webhook.review import BadReview, Request, let_through, read_review, review

LARGEST = 3 * 2**20
"""Bytes of a body, as in Kubernetes."""
SECONDS = 4.5
"""Timeout of one review, its body and its wait included: below the 5 s for which the API server waits."""
_AT_ONCE = 16
"""Reviews whose bodies are there."""
_BYTES = 32 * 2**20
"""Of all bodies that arrive or wait. Its pod may take 300 MiB."""
_CONNECTIONS = 256
"""Each takes up to 256 KiB for TLS once its client has sent as much. The API server is one client or a few."""
_REST_SECONDS = 1.0
"""For the rest of a body that is not taken: who is still sending it sees no answer."""

log = logging.getLogger("paddock.webhook")


def answer(body: bytes, decide: Callable[[Request], Manifest] = review) -> bytes:
    """The AdmissionReview that answers a body. Raises `BadReview`, and nothing else."""
    request = read_review(body)
    try:
        found = decide(request)
    except Exception:
        log.exception("a review failed, which is a bug; the job was let through")
        found = let_through(request)
    return msgspec.json.encode(found)


class Server:
    """`host` None: every address. `unready_reason`: why this process is not ready, or empty. `decide`: the review.
    `seconds`: for one, with its body and its wait."""

    def __init__(
        self,
        host: str | None,
        port: int,
        unready_reason: Callable[[], str],
        decide: Callable[[Request], Manifest] = review,
        limits: Limits = LIMITS,
        seconds: float = SECONDS,
    ) -> None:
        self._decide, self._seconds = decide, seconds
        self._host, self.port, self._unready_reason = host, port, unready_reason
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        # One thread: reviews are short, Python does one at a time anyhow, and the loop stays free for the probes.
        self._reviewer = ThreadPoolExecutor(1, "review")
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._bodies = Bodies(_BYTES, LARGEST)
        connections = limits.connections or min(_CONNECTIONS, read_connection_limit())
        self._limits = replace(limits, connections=connections)
        self._server: HttpServer | None = None

    def load(self, certificate: Certificate) -> None:
        """Serves this certificate to connections from now on. Python reads it from files alone: this one is in memory,
        as the file system is read-only and the key is to be on no disk."""
        with os.fdopen(os.memfd_create("certificate"), "w") as stream:
            stream.write(f"{certificate.pem}\n{certificate.key}")
            stream.flush()
            self._context.load_cert_chain(f"/proc/self/fd/{stream.fileno()}")

    async def start(self) -> None:
        """Raises OSError."""
        app = web.Application()
        app.add_routes(
            [web.post(PATH, self._review), web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)]
        )
        self._server = HttpServer(
            app, limits=self._limits, shutdown=SECONDS, auto_decompress=False, lingering_time=_REST_SECONDS
        )
        await self._server.start(self._host, self.port, self._context)
        self.port = self._server.port

    async def stop(self) -> None:
        """Reviews that have begun are answered."""
        if self._server is not None:
            await self._server.stop()
        self._reviewer.shutdown(wait=False, cancel_futures=True)

    async def _review(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(self._seconds) as time:
                with self._bodies.hold(time):
                    body = await self._bodies.read(request.content, time)
                    async with self._room:  # not before: who sends half a body would keep reviews out
                        found = await self._answer(body)
        except BadReview as bad:
            return web.Response(status=400, text=f"{bad}\n")
        except TimeoutError:
            return web.Response(status=503, text="busy\n")
        except ConnectionError:
            return web.Response(status=400)  # for nobody: the client has left within its body
        return web.Response(body=found, content_type="application/json")

    async def _answer(self, body: bytes) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._reviewer, answer, body, self._decide)

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        why = self._unready_reason()
        return web.Response(text=f"{why}\n" if why else "ok\n", status=503 if why else 200)
