"""What a cluster asks of the operator over HTTP: `/healthz`, `/readyz` and `/metrics`, in plain text.

An answer to `/healthz` is the proof that the event loop turns; nothing else is amiss that only a new process could
mend. `/readyz` says what is not known yet; a standby that could lead at once is ready too. Addresses are as Go writes
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from aiohttp import web


class CannotServe(Exception):
    """An address cannot be listened at; the message says which, why and what to do."""


class Address(NamedTuple):
    """`host` None: every address of the machine. Port 0: any that is free."""

    host: str | None
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        return f"{host}:{self.port}"


def read_address(text: str) -> Address | None:
    """`:8080` (every address), `127.0.0.1:8080`, `[::1]:8080`; `0` is off. Raises `ValueError` with a sentence."""
    if text == "0":
        return None
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} has too many colons: an IPv6 address stands in brackets, such as [::1]:8080")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is no address: HOST:PORT, or :PORT for all of this machine's, or 0 for none")
    return Address(host or None, int(port))


@dataclass(frozen=True, slots=True)
class Pages:
    """`scrape`: the metrics and their content type; `unready`: why this process is not ready, empty when it is."""

    scrape: Callable[[], tuple[bytes, str]]
    unready: Callable[[], str]

    async def healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, _: web.Request) -> web.Response:
        why = self.unready()
        return web.Response(text=f"{why}\n" if why else "ok\n", status=503 if why else 200)

    async def metrics(self, _: web.Request) -> web.Response:
        body, kind = self.scrape()
        return web.Response(body=body, headers={"Content-Type": kind})


class Endpoints:
    """Listens at both addresses, or at one for both; None is off. `at` are the addresses it has got."""

    def __init__(self, pages: Pages, metrics: Address | None, probes: Address | None) -> None:
        scraped = [web.get("/metrics", pages.metrics)]
        probed = [web.get("/healthz", pages.healthz), web.get("/readyz", pages.readyz)]
        self._routes: dict[Address, list[web.RouteDef]] = {}
        for address, routes in ((metrics, scraped), (probes, probed)):
            if address is not None:
                self._routes.setdefault(address, []).extend(routes)
        self._flags = {metrics: "metrics", probes: "health-probe"}
        self._runners: list[web.AppRunner] = []
        self.at: dict[str, Address] = {}

    async def start(self) -> None:
        """Raises `CannotServe`."""
        for address, routes in self._routes.items():
            app = web.Application()
            app.add_routes(routes)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            self._runners.append(runner)
            flag = self._flags[address]
            try:
                await web.TCPSite(runner, address.host, address.port).start()
            except OSError as error:
                await self.stop()
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
                raise CannotServe(
                    f"cannot listen at {address}: {reason}. Choose another address with --{flag}-bind-address, or 0 "
                    "for none"
                ) from None
            port = runner.addresses[0][1]
            self.at |= {str(route.path): Address(address.host, port) for route in routes}

    async def stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
