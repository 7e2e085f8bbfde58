"""The HTTP connection to one server, with TLS and credentials. Thin: `client.pool` sends requests, `client.sessions`
what streams and what goes through a proxy.

`Connection` sends a `Request` and returns the body of the answer, or raises its `ApiError`. Every error of the
transport (refused, reset, timed out, an untrusted certificate) becomes `Unavailable`, with a message that names the
server and what to do.

Two answers are retried, as the server says with them that it did not execute the request: a 429, at most four times
and with no wait over ten seconds; and a 401, once, if there is another credential then (`client.credentials`). A
broken connection leaves open whether a write was executed; the caller's next reconcile finds out.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import quote, urlencode

from paddock.client.credentials import Credentials, build_credentials
from paddock.client.identity import Credential
from paddock.client.kubeconfig import Config
from paddock.client.pool import Answer, AnswerTooLong, CannotConnect, Pool, build_head, read_address
from paddock.client.requests import Request, read_error
from paddock.client.sessions import open_session
from paddock.client.tls import Tls
from paddock.kube.errors import ApiError, TooManyRequests, Unauthorized, Unavailable
from paddock.kube.guard import ask_to_begin

if TYPE_CHECKING:
    import aiohttp
    import yarl

CONNECTIONS = 128
"""Limit of concurrent connections for requests. Watches and logs hold theirs for long: they have their own, without
a limit."""

_NO_LIMIT = 0  # for `client.sessions`
_MAX_RETRIES = 4
_MAX_RETRY_AFTER = 10.0
_SWITCHING = 101
_UNAUTHORIZED = 401
_PROXY_ERRORS = 500
_SUCCESS = 300
_MOST_MESSAGE = 32 << 20
"""Bytes of a message of a WebSocket; a kubelet sends 32 KiB at most."""
_ANYTHING = {"Accept": "application/json, */*"}
"""As kubectl says it. The API server hands it on to the kubelet, whose routes of streams produce no named type: one who
takes JSON alone is answered 406."""
_CLOSE_SECONDS = 2.0
"""How long a server may take to agree that a WebSocket is closed."""
T = TypeVar("T")

_NO_SERVER = frozenset({502, 503, 504})
"""What a proxy or a load balancer answers while no server is behind it."""


class Connection:
    """Call `open` first and `close` at the end. `timeout`: seconds for a whole request; of a stream, for connecting;
    the run of a credential plug-in is not in it. `on_date` gets the Date header of every answer: the server's time.
    `credentials`: of several connections, closed by who has opened them."""

    def __init__(
        self,
        config: Config,
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        on_date: Callable[[str | None], None] = lambda _: None,
        credentials: Credentials | None = None,
    ) -> None:
        self.config = config
        self.silent_since: float | None = None
        """Seconds since the epoch: when a request found no server for the first time since the last answer."""
        self._on_date = on_date
        self._timeout = timeout
        self._sleep = sleep
        self._credentials = credentials or build_credentials(config, clock=clock)
        self._owns_credentials = credentials is None
        self._tls: Tls | None = None
        self._identity = _build_identity(config)
        self._is_open = False
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        """By their limit of connections, each opened when it is needed."""
        self._sockets: aiohttp.ClientSession | None = None
        """For WebSockets: its answers are read by `_refuse`."""
        self._pool: Pool | None = None
        self._streaming = 0
        self._waiting: set[asyncio.Timeout] = set()
        self._hangs = False
        """The last probe had no answer."""

    async def open(self) -> None:
        self._tls = Tls(self.config) if self.config.server.startswith("https:") else None
        self._is_open = True
        if not self.config.proxy:
            self._pool = Pool(read_address(self.config.server, self.config.server_name), limit=CONNECTIONS)

    async def close(self) -> None:
        sessions, self._sessions, self._is_open = tuple(self._sessions.values()), {}, False
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        for session in sessions:
            await session.close()
        if self._sockets is not None:
            await self._sockets.close()
            self._sockets = None
        if self._owns_credentials:
            await self._credentials.close()

    async def send(self, request: Request) -> bytes:
        """The body of the answer. Raises `ApiError`, and `AnswerTooLong` as the request says."""
        for attempt in range(_MAX_RETRIES + 1):
            try:
                return await self._send(request)
            except TooManyRequests as error:
                wait = error.retry_after
                if wait is None or wait > _MAX_RETRY_AFTER or attempt == _MAX_RETRIES:
                    raise
                await self._sleep(wait)
        raise AssertionError("unreachable")

    async def _send(self, request: Request) -> bytes:
        if self._pool is None:
            async with self._respond(CONNECTIONS, request, total=self._timeout) as response:
                return await _read(response, request.most)
        pool, credential = self._pool, await self._credentials.get()
        for again in (True, False):
            answer = await self._exchange(pool, request, credential)
            if answer.status < _SUCCESS:
                self._credentials.accept(credential)
                return answer.body
            error = read_error(answer.status, cast("Mapping[str, str]", answer.headers), answer.body)
            if answer.status != _UNAUTHORIZED:
                self._credentials.accept(credential)
                raise error
            other = await self._credentials.replace(credential) if again else None
            if other is None:
                raise error
            credential = other
        raise AssertionError("unreachable")

    async def _exchange(self, pool: Pool, request: Request, credential: Credential) -> Answer:
        headers = self._headers(request, credential)
        # A server compresses long answers alone, which are lists.
        headers += [("Accept-Encoding", "gzip")] if request.method == "GET" else []
        head = build_head(pool.address, request.method, request.path, request.query, headers, request.body)
        context = self._tls.find(credential) if self._tls else None
        try:
            async with asyncio.timeout(self._timeout):
                answer = await pool.send(request.method, head, request.body, context, most=request.most)
        except AnswerTooLong:
            self._hear(True)
            raise
        except (OSError, TimeoutError) as failure:
            self._hear(False)
            raise Unavailable(_explain(self.config, failure)) from failure
        self._hear(answer.status not in _NO_SERVER)
        # An error of a proxy has the proxy's time.
        if answer.status < _PROXY_ERRORS:
            self._on_date(answer.headers.get("Date"))
        return answer

    async def stream(
        self,
        request: Request,
        *,
        read_timeout: float | None = None,
        on_answer: Callable[[], object] = lambda: None,
    ) -> AsyncIterator[bytes]:
        """The body in chunks as received. `read_timeout`: seconds without a byte after which the connection is dead.
        `on_answer` is called when it has begun, which may be long before its first byte."""
        self._streaming += 1
        try:
            async with AsyncExitStack() as held:
                opening = held.enter_async_context(self._respond(_NO_LIMIT, request, read_timeout=read_timeout))
                try:
                    response = await self._wait(opening)
                except TimeoutError as failure:  # broken by a probe
                    raise Unavailable(_explain(self.config, failure)) from failure
                on_answer()
                while chunk := await self._wait(response.content.readany()):
                    yield chunk
        finally:
            self._streaming -= 1

    async def upgrade(
        self, path: str, query: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> aiohttp.ClientWebSocketResponse:
        """A WebSocket that the server has opened; the caller closes it. `query`: in this order, names more than once.
        Raises `ApiError` for any other answer."""
        import yarl

        session = self._open_sockets()
        # Written here: Go takes no `;` in a query, which yarl would leave as it is.
        text = f"{self.config.server}{path}?{urlencode(query, quote_via=quote)}"
        url, credential = yarl.URL(text, encoded=True), await self._credentials.get()
        for again in (True, False):
            try:
                socket = await self._upgrade(session, url, protocols, credential)
            except Unauthorized:
                other = await self._credentials.replace(credential) if again else None
                if other is None:
                    raise
                credential = other
                continue
            except ApiError:
                self._credentials.accept(credential)
                raise
            self._credentials.accept(credential)
            return socket
        raise AssertionError("unreachable")

    async def _upgrade(
        self, session: aiohttp.ClientSession, url: yarl.URL, protocols: Sequence[str], credential: Credential
    ) -> aiohttp.ClientWebSocketResponse:
        import aiohttp  # by the session before

        ask_to_begin()
        try:
            async with asyncio.timeout(self._timeout):
                socket = await session.ws_connect(
                    url,
                    protocols=protocols,
                    headers=self._headers(Request("GET", url.path, headers=_ANYTHING), credential),
                    ssl=self._tls.find(credential) if self._tls else True,
                    server_hostname=self.config.server_name,
                    proxy=self.config.proxy,
                    max_msg_size=_MOST_MESSAGE,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                )
        except aiohttp.WSServerHandshakeError as failure:  # 101 of something that speaks no WebSocket
            self._hear(False)
            raise Unavailable(
                f"{self.config.server} opened no WebSocket ({failure.message}): something between here and the API "
                "server, perhaps a proxy, does not let one through"
            ) from failure
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as failure:
            self._hear(False)
            raise Unavailable(_explain(self.config, failure)) from failure
        self._hear(True)
        return socket

    def _open_sockets(self) -> aiohttp.ClientSession:
        if not self._is_open:
            raise RuntimeError("the client is not open: use `async with Client(config) as api`")
        if self._sockets is None:
            self._sockets = open_session(_NO_LIMIT, check=_refuse)
        return self._sockets

    async def probe(self, seconds: float) -> None:
        """Asks for little, while something streams: a server that hangs, or a network that drops what it is given, ends
        no stream. Where no answer of any kind comes within `seconds`, all streams are broken, so that each begins anew
        on a connection of its own; and once more when there is one, as those that began meanwhile may hang. Never
        raises `ApiError`."""
        if not self._streaming and not self._hangs:
            return
        before, self._hangs = self._hangs, False
        try:
            async with self._respond(CONNECTIONS, Request("GET", "/version"), total=seconds) as response:
                await response.read()
        except Unavailable:
            self._hangs = True
        except ApiError:  # that is an answer
            pass
        if before or self._hangs:
            waiting, self._waiting = self._waiting, set()
            for scope in waiting:
                scope.reschedule(asyncio.get_running_loop().time())

    async def _wait(self, read: Awaitable[T]) -> T:
        """What a stream waits for; `TimeoutError` where a probe breaks it."""
        async with asyncio.timeout(None) as scope:
            self._waiting.add(scope)
            try:
                return await read
            finally:
                self._waiting.discard(scope)

    def _find_session(self, limit: int) -> aiohttp.ClientSession:
        if not self._is_open:
            raise RuntimeError("the client is not open: use `async with Client(config) as api`")
        if limit not in self._sessions:
            self._sessions[limit] = open_session(limit)
        return self._sessions[limit]

    @asynccontextmanager
    async def _respond(
        self,
        limit: int,
        request: Request,
        *,
        total: float | None = None,
        read_timeout: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        session = self._find_session(limit)
        import aiohttp  # by the session before

        limits = aiohttp.ClientTimeout(total=total, connect=self._timeout, sock_read=read_timeout)
        credential = await self._credentials.get()
        try:
            for again in (True, False):
                ask_to_begin()
                async with session.request(
                    request.method,
                    self.config.server + request.path,
                    params=request.query,
                    data=request.body,
                    headers=self._headers(request, credential),
                    timeout=limits,
                    ssl=self._tls.find(credential) if self._tls else True,
                    server_hostname=self.config.server_name,
                    proxy=self.config.proxy,
                    allow_redirects=False,
                ) as response:
                    self._hear(response.status not in _NO_SERVER)
                    # An error of a proxy has the proxy's time.
                    if response.status < _PROXY_ERRORS:
                        self._on_date(response.headers.get("Date"))
                    if response.status < _SUCCESS:
                        self._credentials.accept(credential)
                        yield response
                        return
                    error = read_error(response.status, response.headers, await response.read())
                if response.status != _UNAUTHORIZED:
                    self._credentials.accept(credential)
                    raise error
                other = await self._credentials.replace(credential) if again else None
                if other is None:
                    raise error
                credential = other
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as failure:
            self._hear(False)
            raise Unavailable(_explain(self.config, failure)) from failure

    def _hear(self, answered: bool) -> None:
        self.silent_since = None if answered else self.silent_since or time.time()

    def _headers(self, request: Request, credential: Credential) -> list[tuple[str, str]]:
        headers = {"Accept": "application/json", "User-Agent": "paddock", **request.headers}
        if credential.token:
            headers["Authorization"] = f"Bearer {credential.token}"
        return [*headers.items(), *self._identity]


async def _refuse(response: aiohttp.ClientResponse) -> None:
    """Raises what an answer says that opens no WebSocket: aiohttp tells its number alone."""
    if response.status == _SWITCHING:
        return
    try:
        body = await response.read()
    finally:
        response.close()
    if response.status < _SUCCESS:
        raise Unavailable(
            f"the server answered {response.status} where it was to open a WebSocket: something between here and the "
            "API server, perhaps a proxy, does not let one through"
        )
    raise read_error(response.status, response.headers, body)


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    if not most:
        return await response.read()
    chunks, length = [], 0
    while chunk := await response.content.readany():
        chunks.append(chunk)
        if (length := length + len(chunk)) > most:
            raise AnswerTooLong
    return b"".join(chunks)


def _build_identity(config: Config) -> list[tuple[str, str]]:
    """Impersonation headers, if the kubeconfig has `as` or `as-groups`."""
    user = [("Impersonate-User", config.impersonate)] if config.impersonate else []
    return [*user, *(("Impersonate-Group", group) for group in config.impersonate_groups)]


def _explain(config: Config, error: BaseException) -> str:
    """What failed, at which server, and what to do."""
    where = f"{config.server} ({config.source})" if config.source else config.server
    cause = error.error if isinstance(error, CannotConnect) else getattr(error, "certificate_error", None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {where} is not one that this kubeconfig trusts: {cause}. "
            "The kubeconfig may belong to an older cluster: write it again"
        )
    cause = getattr(error, "os_error", cause)  # of an aiohttp.ClientConnectorError
    if isinstance(cause, OSError):
        number = cause.errno
        # asyncio's own errors have no number, and that of a connection that is closed at once has no text either.
        reason = os.strerror(number) if number and number > 0 else str(cause) or "it closes the connection at once"
        return f"nothing answers at {where}: {reason}. Start that cluster, or choose another with KUBECONFIG"
    if isinstance(error, TimeoutError):
        return f"{where} did not answer in time. It may be overloaded or not reachable from here; try again"
    return f"the connection to {where} broke: {error or type(error).__name__}. Try again"
