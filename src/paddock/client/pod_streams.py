"""exec, attach and port-forward of a pod, asked of any API server over a WebSocket: a laptop's and a Kubernetes'.

One message is the number of a channel and its bytes (`kube.pod_streams`). Offered are `v5.channel.k8s.io` (Kubernetes
1.30 and later) and `v4.channel.k8s.io` (before, and where the request goes to an older kubelet). In v4 there is no
message that ends the input: the program waits for more until the connection is closed at its end, so a command that
reads its input to the end does not end by itself there (`RemoteSession.can_close_input`).

A port is asked for as `?ports=N` with `v4.channel.k8s.io`, which each Kubernetes hands on to the kubelet: channel 0 has
the bytes, channel 1 an error, and each begins with the port as two bytes. One WebSocket carries one connection. It has
no half-closed state either.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from paddock.kube.errors import BadRequest, Unavailable
from paddock.kube.meta import PODS, Manifest
from paddock.kube.pod_streams import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, Ended, Size, StreamRequest, read_end

if TYPE_CHECKING:
    import aiohttp

    from paddock.client.client import Client

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
PING_SECONDS = 20.0
"""Load balancers end a connection that is silent for a minute or more. No answer is waited for: a server whose program
does not read its input reads no ping either."""
END_SECONDS = 5.0
"""How long the server may take to close the connection after it has told how the program ended."""
_MOST = 32 << 10
"""Bytes of a message that is sent."""
_PORT_BYTES = 2


def build_query(request: StreamRequest) -> list[tuple[str, str]]:
    """The query of exec, and of attach, which has no command. A terminal has no stderr of its own: Kubernetes refuses
    both together."""
    flags = (
        ("stdin", request.stdin),
        ("stdout", request.stdout),
        ("stderr", request.stderr and not request.tty),
        ("tty", request.tty),
    )
    return [
        *(("command", word) for word in request.command),
        *((("container", request.container),) if request.container else ()),
        *((name, "true" if asked else "false") for name, asked in flags),
    ]


async def open_exec(client: Client, namespace: str, pod: str, request: StreamRequest) -> RemoteSession:
    """Runs a command in a pod. Raises `ApiError` where nothing ran."""
    return await _open(client, namespace, pod, "exec", request)


async def open_attach(client: Client, namespace: str, pod: str, request: StreamRequest) -> RemoteSession:
    """What the pod's own program prints from now on. Raises `ApiError`."""
    return await _open(client, namespace, pod, "attach", request)


async def open_port(client: Client, namespace: str, pod: str, port: int) -> RemotePort:
    """One connection to a port of the pod. Raises `ApiError`; that nobody listens is told when it is read."""
    socket = await client.open_socket(PODS.path(namespace, pod, "portforward"), [("ports", str(port))], [V4])
    return RemotePort(socket)


async def _open(client: Client, namespace: str, pod: str, verb: str, request: StreamRequest) -> RemoteSession:
    socket = await client.open_socket(PODS.path(namespace, pod, verb), build_query(request), [V5, V4])
    if socket.protocol not in (V5, V4):
        await socket.close()
        raise BadRequest(f"the server speaks neither {V5} nor {V4}, by which Paddock runs commands in pods")
    return RemoteSession(socket)


class _Socket:
    """A WebSocket whose messages have channels. It is kept alive until it is closed."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._tasks = {asyncio.create_task(self._ping())}

    async def receive(self, seconds: float | None = None) -> bytes | None:
        """The next message; None at the end of the connection, and where none comes within `seconds`."""
        import aiohttp  # by the socket before

        while True:
            try:
                message = await self._socket.receive(seconds)
            except TimeoutError:
                return None
            if message.type is aiohttp.WSMsgType.BINARY:
                return bytes(message.data)
            if message.type is not aiohttp.WSMsgType.TEXT:  # closed, or broken
                return None
            if message.data:  # some proxies make a text of it
                return bytes(message.data.encode())

    async def send(self, channel: int, data: bytes) -> None:
        """Nothing is sent when the connection has ended: who reads finds out."""
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(data), _MOST):
                await self._socket.send_bytes(bytes([channel]) + data[start : start + _MOST])

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Sends without being waited for, before what is sent next."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._socket.close()

    async def _ping(self) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                await asyncio.sleep(PING_SECONDS)
                await self._socket.ping()


class RemoteSession:
    """A program of exec, or a container that is attached to: a `kube.pod_streams.Session`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._channels = _Socket(socket)
        self.can_close_input = socket.protocol == V5
        """Whether the program can be told that there is no more input, before the session ends."""
        self._ended: Ended | None = None
        self._over = asyncio.Event()

    async def read(self) -> tuple[int, bytes] | None:
        while not self._over.is_set():
            # What is printed may come behind the end: each channel has a sender of its own.
            message = await self._channels.receive(END_SECONDS if self._ended else None)
            if message is None:
                self._over.set()
                break
            channel, data = (message[0], message[1:]) if message else (CLOSE, b"")
            if channel == ERROR and data:
                self._ended = read_end(_read_status(data))
            elif channel in (STDOUT, STDERR) and data:
                return channel, data
        return None

    async def write(self, data: bytes) -> None:
        await self._channels.send(STDIN, data)

    def close_input(self) -> None:
        if self.can_close_input:
            self._channels.begin(self._channels.send(CLOSE, bytes([STDIN])))

    def resize(self, size: Size) -> None:
        told = json.dumps({"Width": size.width, "Height": size.height}).encode()
        self._channels.begin(self._channels.send(RESIZE, told))

    async def wait(self) -> Ended:
        """After the last `read`. Raises `Unavailable` where the connection was lost before the end was told: whether
        the program runs on is not known."""
        await self._over.wait()
        if self._ended is None:
            raise Unavailable(
                "the connection was lost before the program had ended: its node, or a proxy on the way, has closed it. "
                "The program may run on"
            )
        return self._ended

    async def close(self) -> None:
        self._over.set()
        await self._channels.close()


class RemotePort:
    """A connection to a port of a pod: a `kube.pod_streams.Connection`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._channels = _Socket(socket)
        self._left = {STDIN: _PORT_BYTES, STDOUT: _PORT_BYTES}
        """Bytes of the port's number that are still to come, by channel."""
        self._error = b""

    async def read(self) -> bytes:
        """Raises OSError with what the node says."""
        while (message := await self._channels.receive()) is not None:
            if not message:
                continue
            channel, data = message[0], message[1:]
            skipped = min(self._left.get(channel, 0), len(data))
            if skipped:
                self._left[channel] -= skipped
                data = data[skipped:]
            if channel == STDOUT:  # the second channel is that of errors here
                self._error += data
            elif channel == STDIN and data:
                return data
        if self._error:
            raise OSError(self._error.decode(errors="replace").strip())
        return b""

    async def write(self, data: bytes) -> None:
        await self._channels.send(STDIN, data)

    def write_eof(self) -> None:
        """Without effect: a WebSocket of a port has no half-closed state."""

    async def close(self) -> None:
        await self._channels.close()


def _read_status(data: bytes) -> Manifest:
    try:
        status = json.loads(data)
    except ValueError:  # a runtime's own words
        return {"message": data.decode(errors="replace").strip()}
    return status if isinstance(status, dict) else {}
