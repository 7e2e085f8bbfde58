"""A server on loopback whose answers are bytes of the test's own: heads and bodies that no library would send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Raw:
    """`answer`: the request's head -> all bytes of the answer; the connection ends behind them. `heads`: what was
    asked. `host`: where it listens."""

    answer: Callable[[str], bytes]
    host: str = "127.0.0.1"
    heads: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            writer.write(self.answer(head))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serve_raw(answer: Callable[[str], bytes], host: str = "127.0.0.1") -> AsyncIterator[Raw]:
    raw = Raw(answer, host)
    server = await asyncio.start_server(raw.serve, host, 0)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()
        await server.wait_closed()


def build_answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    """`headers` in Latin-1, so that each byte can stand there."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1") + body


def in_turn(*answers: bytes) -> Callable[[str], bytes]:
    """One answer for each request; the last one for all further."""
    left = list(answers)
    return lambda head: left.pop(0) if len(left) > 1 else left[0]


def read_start(head: str) -> int | None:
    """The first byte that a request asks for; None: it asks for all."""
    found = head.lower().partition("\r\nrange: bytes=")[2]
    return int(found.partition("-")[0]) if found else None
