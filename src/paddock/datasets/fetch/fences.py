"""Requests to a bucket end at its host. I/O.

obstore follows redirects by itself, and takes nothing but `Authorization` from a request to another host: the token of
temporary credentials (`x-amz-security-token`) would go there, and the objects of that host be taken for the bucket's.
So every host but the bucket's lies, for obstore, behind a proxy: this server, which answers that nothing is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from obstore.store import ClientConfig

_HEAD_SECONDS = 10.0


@dataclass(slots=True)
class Fence:
    """`led_to`: the host that a request was last led to; empty if none was."""

    port: int = 0
    led_to: str = ""

    def build_options(self, endpoint: str) -> ClientConfig:
        """Those of a client that may reach the host of its endpoint, and hosts below that one. A proxy of the
        environment stays the way to it: there is no second one then, and that proxy decides what can be reached."""
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        if {parts.scheme, "all"} & getproxies().keys() and not proxy_bypass(host):
            return {}
        return {"proxy_url": f"http://127.0.0.1:{self.port}", "proxy_excludes": _unify(host)}

    async def refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Only obstore has something to ask here, and asks at once."""
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_HEAD_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            target = head.split(" ", 2)[1]
            self.led_to = (urlsplit(target).netloc if "://" in target else target.removesuffix(":443"))[:200]
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def open_fence() -> AsyncIterator[Fence]:
    fence = Fence()
    server = await asyncio.start_server(fence.refuse, "127.0.0.1", 0)
    fence.port = server.sockets[0].getsockname()[1]
    try:
        yield fence
    finally:
        server.close()


def _unify(host: str) -> str:
    """As obstore writes it: an address in its shortest form, a name in ASCII."""
    with suppress(ValueError):
        return str(ip_address(host))
    with suppress(UnicodeError):
        return host.encode("idna").decode()
    return host
