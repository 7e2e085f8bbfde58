"""The operator's HTTP endpoints: `/healthz`, `/readyz` and `/metrics`, in plain text.

`/healthz` is well as long as the operator lives, however slow it is. `/readyz` names what is not known yet, or not any
more; a standby that could lead at once is ready too. Addresses are written as in Go.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from aiohttp import web

from paddock.serving.server import HttpServer
from paddock.words.phrases import phrase


class CannotServe(Exception):
    """Listening on an address failed; the message says which, why and what to do."""


class Address(NamedTuple):
    """`host` None: every address of the machine. Port 0: any free port."""

    host: str | None
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        return f"{host}:{self.port}"


def read_address(text: str) -> Address | None:
    """`:8080` (every address), `127.0.0.1:8080`, `[::1]:8080`; `0` is off. Raises `ValueError` with a `Phrase`."""
    if text == "0":
        return None
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        said = phrase(
            "{text} has too many colons: an IPv6 address stands in brackets, such as [::1]:8080", text=repr(text)
        )
        raise ValueError(said)
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        said = phrase(
            "{text} is no address: HOST:PORT, or :PORT for all of this machine's, or 0 for none", text=repr(text)
        )
        raise ValueError(said)
    return Address(host or None, int(port))


def explain_os_error(error: OSError) -> str:
    """Why listening failed. The error of an unknown host name has a negative number, which `os.strerror` does not
    know."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


@dataclass(frozen=True, slots=True)
class Handlers:
    """What answers the questions of a kubelet and of Prometheus."""

    scrape: Callable[[], Awaitable[tuple[bytes, str]]]
    """The metrics and their content type."""
    unready_reason: Callable[[], str]
    """Why this process is not ready, or ""."""
    dead_reason: Callable[[], str] = str
    """Why it is to be restarted, or ""."""

    async def healthz(self, _: web.Request) -> web.Response:
        # A kubelet restarts the process when this fails, which repairs an event loop that hangs and nothing else.
        return _answer(self.dead_reason())

    async def readyz(self, _: web.Request) -> web.Response:
        return _answer(self.unready_reason())

    async def metrics(self, _: web.Request) -> web.Response:
        body, kind = await self.scrape()
        return web.Response(body=body, headers={"Content-Type": kind})


def _answer(why: str) -> web.Response:
    return web.Response(text=f"{why}\n" if why else "ok\n", status=503 if why else 200)


class Endpoints:
    """Listens on both addresses, or on one for both; None is off. `addresses`: path -> the address that serves it."""

    def __init__(self, handlers: Handlers, metrics: Address | None, probes: Address | None) -> None:
        scraped = [web.get("/metrics", handlers.metrics)]
        probed = [web.get("/healthz", handlers.healthz), web.get("/readyz", handlers.readyz)]
        self._routes: dict[Address, list[web.RouteDef]] = {}
        for address, routes in ((metrics, scraped), (probes, probed)):
            if address is not None:
                self._routes.setdefault(address, []).extend(routes)
        self._flags = {metrics: "metrics", probes: "health-probe"}
        self._servers: list[HttpServer] = []
        self.addresses: dict[str, Address] = {}

    async def start(self) -> None:
        """Raises `CannotServe`."""
        for address, routes in self._routes.items():
            app = web.Application()
            app.add_routes(routes)
            server = HttpServer(app)
            flag = self._flags[address]
            try:
                await server.start(address.host, address.port)
            except OSError as error:
                await self.stop()
                said = phrase(
                    "cannot listen at {address}: {why}. Choose another address with {flag}, or 0 for none",
                    address=str(address), why=explain_os_error(error), flag=f"--{flag}-bind-address",
                )  # fmt: skip
                raise CannotServe(said) from None
            self._servers.append(server)
            self.addresses |= {str(route.path): Address(address.host, server.port) for route in routes}

    async def stop(self) -> None:
        for server in self._servers:
            await server.stop()
        self._servers.clear()
