"""Requests to a bucket end at its host. I/O.

obstore follows redirects by itself, and takes nothing but `Authorization` from a request to another host: the token of
temporary credentials (`x-amz-security-token`) would go there, and the objects of that host be taken for the bucket's.
So every host but the bucket's lies, for obstore, behind a proxy: this server, which answers that nothing is there.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from paddock.serving.proxies import find_proxy

if TYPE_CHECKING:
    from obstore.store import ClientConfig

_HEAD_SECONDS = 10.0
_PROXIES = frozenset({"http", "https", "socks4", "socks4a", "socks5", "socks5h"})


@dataclass(slots=True)
class Fence:
    """A port at which a redirected request to another host ends."""

    port: int = 0
    led_to: str = ""
    """The host that a request was last led to; empty if none was."""
    agent: str = field(default_factory=lambda: f"paddock/{secrets.token_hex(16)}")
    """The User-Agent of the fetch's own requests, which nobody guesses. Each process of the machine reaches the port,
    and a request without it is a stranger's. (Proxy-Authorization is none of what a redirected request keeps.)"""

    def build_options(self, endpoint: str) -> ClientConfig:
        """The options of a client that may reach the host of its endpoint, at any port, and hosts below that one. A
        proxy of the environment stays the way to it, and is then the way to every host: that proxy decides what can be
        reached. obstore reads the environment only where it is given no proxy."""
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        if proxy := _find_proxy(parts.scheme, host):
            return {"proxy_url": proxy}
        proxy = f"http://127.0.0.1:{self.port}"
        return {"proxy_url": proxy, "proxy_excludes": _unify(host), "user_agent": self.agent}

    async def refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """obstore asks at once."""
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            if self._is_own(head):
                target = head.decode("latin-1").split(" ", 2)[1]
                host = urlsplit(target).netloc if "://" in target else target.removesuffix(":443")
                self.led_to = host.rpartition("@")[2][:200]
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    def _is_own(self, head: bytes) -> bool:
        fields = [line.partition(b":") for line in head.split(b"\r\n")]
        agents = [value.strip() for name, _, value in fields if name.lower() == b"user-agent"]
        return len(agents) == 1 and compare_digest(agents[0], self.agent.encode())


@asynccontextmanager
async def open_fence() -> AsyncIterator[Fence]:
    fence = Fence()
    server = await asyncio.start_server(fence.refuse, "127.0.0.1", 0)
    fence.port = server.sockets[0].getsockname()[1]
    try:
        yield fence
    finally:
        server.close()


def _find_proxy(scheme: str, host: str) -> str:
    """The environment's proxy to a host; empty if there is none. One that obstore cannot use is none: it would go
    straight to the host, and to each other one."""
    proxy = find_proxy(scheme, host)
    with suppress(ValueError):
        parts = urlsplit(proxy)
        name, _ = parts.hostname, parts.port
        return proxy if name and parts.scheme in _PROXIES else ""
    return ""


def _unify(host: str) -> str:
    """As obstore writes it: an address in its shortest form, a name in ASCII."""
    with suppress(ValueError):
        return str(ip_address(host))
    with suppress(UnicodeError):
        return host.encode("idna").decode()
    return host
