"""A board from its plan to its end: its packages, its server, the proxy before it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from paddock.app.boards.plan import Plan
from paddock.app.boards.process import BoardEnded, BoardProcess, Server
from paddock.app.boards.proxy import Access, Proxy
from paddock.app.boards.tools import Tool
from paddock.app.home import Home
from paddock.environments.builder import Builder
from paddock.environments.directories import Built
from paddock.environments.progress import Progress
from paddock.environments.uv import find_uv
from paddock.kube.times import Moment
from paddock.serving.server import HttpServer

_TRIES = 20
_LOOK_SECONDS = 15.0


async def build_packages(home: Home, tool: Tool, report: Callable[[Progress], None]) -> Built:
    """The environment of a program, which is built at first use. Raises `BuildFailed`."""
    builder = Builder(home.cache / "environments", dict(os.environ), find_uv())
    python = await builder.find_python(tool.definition)
    built = builder.read_built(tool.definition, python) if python is not None else None
    return built or await builder.build(tool.definition, report)


class Source(Protocol):
    """A board's server, wherever it runs: `process.BoardProcess`, or a pod."""

    @property
    def socket(self) -> Path:
        """The Unix socket on which it is reached once it has started."""
        ...

    @property
    def problem(self) -> str:
        """Why it runs without a sandbox; empty if it has one."""
        ...

    async def start(self) -> None:
        """Returns when it listens."""
        ...

    async def wait(self) -> str:
        """What it printed last, once it has ended."""
        ...

    async def stop(self) -> None:
        """Ends it, and removes what was made for it. Also of one that has not started."""
        ...


async def serve_board(
    plan: Plan,
    environment: Path,
    language: str,
    show: Callable[[Access, int, str], None],
    *,
    port: int = 0,
    idle: float | None = None,
    clock: Callable[[], Moment] = time.time,
) -> bool:
    """The board of a plan on this machine: see `serve_source`."""
    access = Access(clock())
    process = BoardProcess(Server(plan.tool, environment, plan.directories, access.root, language))
    return await serve_source(process, access, language, show, port=port, idle=idle, clock=clock)


async def serve_source(
    source: Source,
    access: Access,
    language: str,
    show: Callable[[Access, int, str], None],
    *,
    port: int = 0,
    idle: float | None = None,
    clock: Callable[[], Moment] = time.time,
) -> bool:
    """Serves until SIGINT or SIGTERM: see `serve_until`."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    proxy = Proxy(access, source.socket, language=language, clock=clock)
    return await serve_until(stop, source, access, proxy, show, port=port, idle=idle, clock=clock)


async def serve_until(
    stop: asyncio.Event,
    source: Source,
    access: Access,
    proxy: Proxy,
    show: Callable[[Access, int, str], None],
    *,
    port: int = 0,
    idle: float | None = None,
    clock: Callable[[], Moment] = time.time,
) -> bool:
    """Serves until `stop`, or for `idle` seconds after the last request: only then it returns True. `proxy`: of this
    access. `show`: of the secrets, the port, and why there is no sandbox or "". Raises `BoardEnded`, what the source
    raises, and OSError where it cannot listen. Also where it is cancelled, nothing is left of it."""
    listening = list[socket.socket]()
    server = HttpServer(proxy.application, cancels=True)
    try:
        listening = listen(port)
        if not await _unless(stop, source.start()):
            return False
        await proxy.start()
        await server.start_on(listening)
        access.began = proxy.last_request = clock()  # what came before may have taken minutes
        show(access, server.port, source.problem)
        return await _wait(source, proxy, stop, idle, clock)
    finally:
        for each in listening:
            each.close()
        await server.stop()
        await proxy.stop()
        await source.stop()


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Whether the work was done; False if `stop` came first. Raises what it raises."""
    doing, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([doing, stopping], return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
            return True
        return False
    finally:
        for task in (doing, stopping):
            task.cancel()
        await asyncio.gather(doing, stopping, return_exceptions=True)


async def _wait(
    source: Source, proxy: Proxy, stop: asyncio.Event, idle: float | None, clock: Callable[[], Moment]
) -> bool:
    ended, stopped = asyncio.create_task(source.wait()), asyncio.create_task(stop.wait())
    try:
        while True:
            left = _LOOK_SECONDS if idle is None else proxy.last_request + idle - clock()
            if left <= 0:
                return True
            timeout = min(left, _LOOK_SECONDS)
            await asyncio.wait([ended, stopped], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                return False
            if ended.done():
                raise BoardEnded(ended.result())
    finally:
        ended.cancel()
        stopped.cancel()


def listen(port: int) -> list[socket.socket]:
    """Sockets at 127.0.0.1 and at ::1, where there is one, of the same port: browsers take either for a name below
    `localhost`, and at the other one another user could listen. 0: any port that is free at both. Raises OSError."""
    for _ in range(_TRIES):
        first = _bind(socket.AF_INET, "127.0.0.1", port)
        try:
            return [first, _bind(socket.AF_INET6, "::1", first.getsockname()[1])]
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return [first]  # this machine has no IPv6
            first.close()
            if port:
                raise
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _bind(family: int, host: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((host, port))
    except BaseException:
        made.close()
        raise
    return made
