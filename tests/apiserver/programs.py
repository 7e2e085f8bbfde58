"""A node that runs programs of this machine for exec and attach, and connects to its ports: `PodStreams` for tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from apiserver.embedded import pod
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import BadRequest
from paddock.kube.meta import PODS, Manifest
from paddock.kube.pod_streams import STDERR, STDOUT, Connection, Ended, Session, Size, StreamRequest

_PIECE = 64 * 1024


class Program:
    """A session of a real process, by three pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._outputs: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue(1)
        self._readers = [
            asyncio.create_task(self._pump(STDOUT, process.stdout)),
            asyncio.create_task(self._pump(STDERR, process.stderr)),
        ]
        self._open = len(self._readers)
        self.sizes: list[Size] = []
        self.closed = asyncio.Event()
        self.began = False
        """Something was written."""
        self.read_bytes = 0
        self.made_at = asyncio.get_running_loop().time()
        self.asked_at: float | None = None
        """When somebody first asked for its outputs."""
        self.failed: Ended | None = None

    async def _pump(self, channel: int, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while data := await stream.read(_PIECE):
            await self._outputs.put((channel, data))
        self._open -= 1
        if not self._open:
            await self._outputs.put(None)

    async def read(self) -> tuple[int, bytes] | None:
        if self.asked_at is None:
            self.asked_at = asyncio.get_running_loop().time()
        output = await self._outputs.get()
        self.read_bytes += len(output[1]) if output else 0
        return output

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self.began = True
        with suppress(ConnectionError):
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    def close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def resize(self, size: Size) -> None:
        self.sizes.append(size)

    async def wait(self) -> Ended:
        if self.failed is not None:
            return self.failed
        code = await self._process.wait()
        return Ended(code if code >= 0 else 128 - code)

    async def close(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        for task in self._readers:
            task.cancel()
        self.close_input()
        self.closed.set()


class Socket:
    """A connection to a port of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.closed = asyncio.Event()

    async def read(self) -> bytes:
        return await self._reader.read(_PIECE)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def write_eof(self) -> None:
        self._writer.write_eof()

    async def close(self) -> None:
        self._writer.close()
        self.closed.set()


class Programs:
    """`PodStreams`. `ports`: those of the pod, each with the port of this machine that stands for it."""

    def __init__(self) -> None:
        self.asked: list[StreamRequest] = []
        self.sessions: list[Program] = []
        self.connections: list[Socket] = []
        self.ports: dict[int, int] = {}

    async def exec(self, pod: Manifest, request: StreamRequest) -> Session:
        self.asked.append(request)
        if (pod.get("status") or {}).get("phase") != "Running":
            raise BadRequest(f"pod {pod['metadata']['name']} does not run")
        if request.command[0] == "nosuch":
            session = await self._begin(("true",))
            session.failed = Ended(127, 'exec: "nosuch": executable file not found in $PATH')
            return session
        return await self._begin(request.command)

    async def attach(self, pod: Manifest, request: StreamRequest) -> Session:
        self.asked.append(request)
        return await self._begin(("sh", "-c", "cat; echo seen; exit 3"))

    async def connect(self, pod: Manifest, port: int) -> Connection:
        if port not in self.ports:
            raise ConnectionRefusedError(111, f"nobody listens on port {port}")
        socket = Socket(*await asyncio.open_connection("127.0.0.1", self.ports[port]))
        self.connections.append(socket)
        return socket

    async def _begin(self, command: tuple[str, ...]) -> Program:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env={"PATH": os.environ["PATH"]}
        )
        self.sessions.append(Program(process))
        return self.sessions[-1]


def running_pod(name: str = "p", *containers: str, phase: str = "Running") -> Manifest:
    made = pod(name)
    if containers:
        made["spec"]["containers"] = [{"name": each, "image": "busybox"} for each in containers]
    made["spec"]["nodeName"] = "laptop"
    made["status"] = {"phase": phase}
    return made


async def create(api: LocalApi, made: Manifest) -> None:
    await api.create(PODS, made, namespace="default")
    await api.patch(PODS, "default", made["metadata"]["name"], {"status": made["status"]}, subresource="status")


@asynccontextmanager
async def serving(api: LocalApi, programs: Programs, directory: Path) -> AsyncIterator[Server]:
    """An API server with the pod `p`, which `programs` lets clients into."""
    started = Server(api, directory / "cluster", streams=programs)
    await started.start()
    await create(api, running_pod())
    yield started
    await started.stop()
