"""A client of SPDY/3.1 on a socket, as kubectl before 1.31 is one, which a test can make misbehave."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import defaultdict
from collections.abc import Callable

from paddock.apiserver.http.server import Server
from paddock.apiserver.streaming.spdy import Data, Frame, Ping, Reader, RstStream, SynReply, SynStream, Writer
from paddock.kube.pod_streams import Ended, read_end

EXEC_PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")


class SpdyClient:
    """`got`: the bytes of each stream; `finished` and `reset`: those that the server has ended so."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self._frames, self._bytes = Reader(), Writer()
        self._next = 1
        self.got: defaultdict[int, bytes] = defaultdict(bytes)
        self.replied: set[int] = set()
        self.finished: set[int] = set()
        self.reset: set[int] = set()
        self.pings: list[int] = []
        self.protocol = ""

    async def send(self, frame: Frame) -> None:
        self.writer.write(self._bytes.write(frame))
        await self.writer.drain()

    async def open(self, **headers: str) -> int:
        """The number of a new stream."""
        number, self._next = self._next, self._next + 2
        await self.send(SynStream(number, headers))
        return number

    async def until(self, holds: Callable[[], bool]) -> None:
        """Reads until this holds."""
        while not holds():
            assert await self.receive(), "the server has closed"

    async def receive(self) -> bool:
        """Reads once; False at the end."""
        data = await asyncio.wait_for(self._reader.read(64 * 1024), 60)
        for frame in self._frames.feed(data):
            self._take(frame)
        return bool(data)

    def _take(self, frame: Frame) -> None:
        match frame:
            case Data(number, data, fin):
                self.got[number] += data
                self.finished |= {number} if fin else set()
            case SynReply(number):
                self.replied.add(number)
            case RstStream(number):
                self.reset.add(number)
            case Ping(number):
                self.pings.append(number)

    def read_status(self, number: int) -> Ended:
        return read_end(json.loads(self.got[number]))

    def close(self) -> None:
        self.writer.close()


async def connect_spdy(
    server: Server, path: str, *protocols: str, method: str = "POST", upgrade: str = "SPDY/3.1"
) -> tuple[int, bytes, SpdyClient]:
    """The status of the answer, the rest of it where it is no 101, and the client."""
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    host, _, port = server.url.removeprefix("https://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    lines = [
        f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {server.token}",
        "Connection: Upgrade", f"Upgrade: {upgrade}", "Content-Length: 0",
        *(f"X-Stream-Protocol-Version: {each}" for each in protocols), "", "",
    ]  # fmt: skip
    writer.write("\r\n".join(lines).encode())
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode()
    status = int(head.split()[1])
    client = SpdyClient(reader, writer)
    fields = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
    client.protocol = fields.get("x-stream-protocol-version", "")
    rest = b"" if status == 101 else await reader.readexactly(int(fields.get("content-length", "0")))
    return status, rest, client
