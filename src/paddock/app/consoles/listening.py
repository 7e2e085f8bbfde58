"""The console of the local cluster, on an address of this machine that is its user's own. It listens from the beginning
and is loaded when somebody first opens it: that is a sixth of the CPU of a cluster's start.

<home>/console/port     of the last start: a forwarded port keeps working

`links` makes the links that sign in.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.consoles.hosts import find_host
from paddock.app.consoles.links import make_directory, read_key
from paddock.app.home import Home
from paddock.jobs.model import Settings
from paddock.kube.api import Api
from paddock.serving.server import HttpServer

if TYPE_CHECKING:
    from paddock.console.server import Console

_LOADED = "paddock.app.consoles.local"
_WAITING = 128
"""Connections that the system keeps until the console is loaded."""
_log = logging.getLogger(__name__)


class LocalConsole:
    """Serves the console of a home until `stop`."""

    def __init__(self, api: Api, home: Home, machine: str, settings: Settings) -> None:
        self._place = (api, home, machine, settings)
        self._home, self._host = home, ""
        self._begun = time.time()
        self._console: Console | None = None
        self._socket: socket.socket | None = None
        self._server: HttpServer | None = None
        self._opening: asyncio.Task[None] | None = None
        self.url = ""

    @property
    def is_loaded(self) -> bool:
        return self._console is not None

    @property
    def last_request(self) -> float:
        """The current time while somebody looks at a page."""
        if self._console is None:
            return self._begun
        boards = self._console.backend.boards
        looked_at = boards.last_request if boards is not None else self._begun
        return time.time() if self._console.streams else max(self._console.last_request, looked_at)

    async def start(self) -> None:
        """Raises OSError."""
        self._host, remembered = find_host(), make_directory(self._home) / "port"
        read_key(self._home)  # made by one process: of two commands that make it at once, one would sign in vain
        self._socket = _listen(self._host, _read_port(remembered), 0)
        port = self._socket.getsockname()[1]
        remembered.write_text(str(port))
        self.url = f"http://{self._host}:{port}"
        asyncio.get_running_loop().add_reader(self._socket, self._wake)

    async def stop(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._console is None and self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
        if self._console is not None:
            await self._console.close()
        if self._server is not None:
            await self._server.stop()
        elif self._socket is not None:
            self._socket.close()

    def _wake(self) -> None:
        """Somebody has connected."""
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        self._opening = loop.create_task(self._open(self._socket))

    async def _open(self, listening: socket.socket) -> None:
        try:
            loaded = await asyncio.to_thread(import_module, _LOADED)
            console: Console = loaded.build_console(*self._place, self._host)
        except Exception:  # of a disk, which may be well at the next page
            _log.exception("the console could not be opened")
            _turn_away(listening)
            asyncio.get_running_loop().add_reader(listening, self._wake)
            return
        self._console = console
        try:
            server = HttpServer(console.application, cancels=True)
            await server.start_on([listening])  # closed if it fails: a browser is refused, and does not wait
            self._server = server
        except Exception:
            _log.exception("the console could not be opened")


def _turn_away(listening: socket.socket) -> None:
    """Whoever has connected: a browser is refused, and does not wait."""
    with suppress(OSError):
        while True:
            listening.accept()[0].close()


def _listen(host: str, *ports: int) -> socket.socket:
    """At the first of these ports that is free. Raises OSError."""
    for port in ports[:-1]:
        with suppress(OSError, OverflowError):
            return _bind(host, port)
    return _bind(host, ports[-1])


def _bind(host: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(_WAITING)
        found.setblocking(False)
    except BaseException:
        found.close()
        raise
    return found


def _read_port(path: Path) -> int:
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return 0
