"""A node of echoes: whoever enters a pod is sent back what they send, and a log says the same line for ever. Nothing
runs, so that a test may ask for any command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from paddock.apiserver.http.pod_logs import LogOptions
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import STDOUT, Connection, Ended, Session, Size, StreamRequest

_LINE = b"a line of a log that says no more than this\n"


class Echo:
    """A session and a connection."""

    def __init__(self) -> None:
        self._held: asyncio.Queue[bytes] = asyncio.Queue(1)

    async def write(self, data: bytes) -> None:
        await self._held.put(data)

    def close_input(self) -> None:
        if self._held.empty():
            self._held.put_nowait(b"")

    write_eof = close_input

    def resize(self, size: Size) -> None:
        pass

    async def wait(self) -> Ended:
        return Ended(3)

    async def close(self) -> None:
        pass


class _Program(Echo):
    async def read(self) -> tuple[int, bytes] | None:
        data = await self._held.get()
        return (STDOUT, data) if data else None


class _Socket(Echo):
    async def read(self) -> bytes:
        return await self._held.get()


class Echoes:
    """`PodStreams` and `PodLogs`."""

    async def exec(self, pod: Manifest, request: StreamRequest) -> Session:
        return _Program()

    async def attach(self, pod: Manifest, request: StreamRequest) -> Session:
        return _Program()

    async def connect(self, pod: Manifest, port: int) -> Connection:
        if port % 2:
            raise ConnectionRefusedError(111, f"nobody listens on port {port}")
        return _Socket()

    async def read(self, pod: Manifest, options: LogOptions) -> AsyncIterator[bytes]:
        for _ in range(options.tail_lines or 100):
            yield _LINE
        while options.follow:
            yield _LINE * 1_000
            await asyncio.sleep(0)
