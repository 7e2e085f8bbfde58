"""The HTTP connection: aiohttp sessions to one server, with TLS and credentials. Thin.

`Connection` sends a `Request` and returns the body of the answer, or raises its `ApiError`. Every error of the
transport (refused, reset, timed out, an untrusted certificate) becomes `Unavailable`, with a message that names the
server and what to do.

Only a 429 is retried, as the server says that it did not execute the request: at most four times, and no wait over ten
seconds. A broken connection leaves open whether a write was executed; the caller's next reconcile finds out.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.client.kubeconfig import Config, ConfigError
from paddock.client.requests import Request, read_error
from paddock.kube.errors import TooManyRequests, Unauthorized, Unavailable

if TYPE_CHECKING:
    import aiohttp

CONNECTIONS = 128
"""Limit of concurrent connections for requests. Watches and logs hold theirs for long: they have their own, without
a limit."""

_NO_LIMIT = 0  # in aiohttp
_MAX_RETRIES = 4
_MAX_RETRY_AFTER = 10.0
_TOKEN_SECONDS = 60.0


class Connection:
    """Call `open` first and `close` at the end. `timeout`: seconds for a whole request; of a stream, for connecting.
    `on_date` gets the Date header of every answer: the server's time."""

    def __init__(
        self,
        config: Config,
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        on_date: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        self.config = config
        self._on_date = on_date
        self._timeout = timeout
        self._sleep = sleep
        self._token = _Token(config, clock)
        self._identity = _build_identity(config)
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        import aiohttp

        verify = _build_tls(self.config) if self.config.server.startswith("https:") else True

        def open_session(limit: int) -> aiohttp.ClientSession:
            connector = aiohttp.TCPConnector(limit=limit, ssl=verify)
            # An API server sets no cookies: parsing them would cost a little at every request.
            return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

        self._requests, self._streams = open_session(CONNECTIONS), open_session(_NO_LIMIT)

    async def close(self) -> None:
        sessions = (self._requests, self._streams)
        self._requests = self._streams = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def send(self, request: Request) -> bytes:
        """The body of the answer. Raises `ApiError`."""
        for attempt in range(_MAX_RETRIES + 1):
            try:
                async with self._respond(self._requests, request, total=self._timeout) as response:
                    return await response.read()
            except TooManyRequests as error:
                wait = error.retry_after
                if wait is None or wait > _MAX_RETRY_AFTER or attempt == _MAX_RETRIES:
                    raise
                await self._sleep(wait)
        raise AssertionError("unreachable")

    async def stream(self, request: Request, *, read_timeout: float | None = None) -> AsyncIterator[bytes]:
        """The body in chunks as received. `read_timeout`: seconds without a byte after which the connection is dead."""
        async with self._respond(self._streams, request, read_timeout=read_timeout) as response:
            async for chunk in response.content.iter_any():
                yield chunk

    @asynccontextmanager
    async def _respond(
        self,
        session: aiohttp.ClientSession | None,
        request: Request,
        *,
        total: float | None = None,
        read_timeout: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        import aiohttp

        if session is None:
            raise RuntimeError("the client is not open: use `async with Client(config) as api`")
        limits = aiohttp.ClientTimeout(total=total, connect=self._timeout, sock_read=read_timeout)
        try:
            async with session.request(
                request.method,
                self.config.server + request.path,
                params=request.query,
                data=request.body,
                headers=self._headers(request),
                timeout=limits,
                server_hostname=self.config.server_name,
                proxy=self.config.proxy,
                allow_redirects=False,
            ) as response:
                self._on_date(response.headers.get("Date"))
                if response.status >= 300:
                    raise read_error(response.status, response.headers, await response.read())
                yield response
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise Unavailable(_explain(self.config, error)) from error

    def _headers(self, request: Request) -> list[tuple[str, str]]:
        headers = {"Accept": "application/json", "User-Agent": "paddock", **request.headers}
        if token := self._token.read():
            headers["Authorization"] = f"Bearer {token}"
        return [*headers.items(), *self._identity]


class _Token:
    """The bearer token. A file is read again after a minute, as the kubelet renews it; an error keeps the last."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self._file = config.token_file
        self._clock = clock
        self._text = config.token
        self._read_at: float | None = None

    def read(self) -> str:
        if self._file is None or (self._read_at is not None and self._clock() - self._read_at < _TOKEN_SECONDS):
            return self._text
        try:
            self._text = self._file.read_text().strip() or self._text
            self._read_at = self._clock()
        except OSError as error:
            if not self._text:
                raise Unauthorized(f"cannot read the token in {self._file}: {error.strerror}") from None
        return self._text


def _build_identity(config: Config) -> list[tuple[str, str]]:
    """Impersonation headers, if the kubeconfig has `as` or `as-groups`."""
    user = [("Impersonate-User", config.impersonate)] if config.impersonate else []
    return [*user, *(("Impersonate-Group", group) for group in config.impersonate_groups)]


def _build_tls(config: Config) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=config.ca)
        if config.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if config.certificate and config.key:
            _load_certificate(context, config.certificate, config.key)
    except ssl.SSLError as error:
        raise ConfigError(f"{config.source}: its certificates cannot be used: {error.reason or error}") from None
    return context


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """By a temporary private file: Python's ssl reads client certificates from files only."""
    with tempfile.TemporaryDirectory(prefix="paddock-") as directory:
        path = Path(directory) / "client.pem"
        path.touch(mode=0o600)
        path.write_text(f"{certificate}\n{key}\n")
        context.load_cert_chain(path)


def _explain(config: Config, error: BaseException) -> str:
    """What failed, at which server, and what to do."""
    import aiohttp

    where = f"{config.server} ({config.source})" if config.source else config.server
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return (
            f"the certificate of {where} is not one that this kubeconfig trusts: {error.certificate_error}. "
            "The kubeconfig may belong to an older cluster: write it again"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        reason = os.strerror(number) if number and number > 0 else str(error.os_error)
        return f"nothing answers at {where}: {reason}. Start that cluster, or choose another with KUBECONFIG"
    if isinstance(error, TimeoutError):
        return f"{where} did not answer in time. It may be overloaded or not reachable from here; try again"
    return f"the connection to {where} broke: {error or type(error).__name__}. Try again"
