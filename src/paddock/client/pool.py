"""Requests over HTTP/1.1 connections that are kept open: httptools (llhttp, the parser of Node) reads the answers.

A request of an operator is small and comes by the thousand, and costs a quarter of the CPU that it costs with aiohttp's
client (decision 33), which serves streams, and servers behind a proxy. Of HTTP only what a Kubernetes API needs is
here: one request at a time on a connection, no redirects, no cookies. Errors are `OSError`s and `TimeoutError`s.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode, urlsplit

import httptools

from paddock.kube.guard import ask_to_begin

HAPPY_EYEBALLS_SECONDS = 0.25
"""After that long the next address of a host is tried beside the one before (RFC 8305, 8)."""

IDLE_SECONDS = 15.0
"""After that long a connection is not used again: the server, or something between, may just be closing it."""

_IDEMPOTENT = frozenset({"GET", "PUT", "DELETE"})
_PATH = "/!$&'()*+,;=:@~%-._"
"""Characters of a path that stay as they are (RFC 3986, 3.3)."""
_GZIP = 31
_DEFAULT_PORTS = {"https": 443, "http": 80}


class CannotConnect(ConnectionError):
    """No connection was made: nothing was asked."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Disconnected(ConnectionError):
    """The connection ended before the answer. `unanswered`: nothing of one has come."""

    def __init__(self, *, unanswered: bool) -> None:
        super().__init__("server disconnected")
        self.unanswered = unanswered


class AnswerTooLong(Exception):
    """The body of the answer is longer than what is to be taken of it."""


class Headers(dict[str, str]):
    """By names in small letters; `get` takes any."""

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        return super().get(name.lower(), default)


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int
    authority: str
    prefix: str  # what its paths begin with
    name: str | None  # what its certificate has


def read_address(server: str, name: str | None = None) -> Address:
    """The address in `https://host:6443/prefix`. `name` replaces the host in the check of the certificate."""
    url = urlsplit(server)
    host, secure = url.hostname or "", url.scheme == "https"
    port = url.port or _DEFAULT_PORTS.get(url.scheme, 80)
    return Address(host, port, url.netloc.rpartition("@")[2], url.path.rstrip("/"), (name or host) if secure else None)


def build_head(
    address: Address,
    method: str,
    path: str,
    query: Mapping[str, str],
    headers: Iterable[tuple[str, str]],
    body: bytes | None,
) -> bytes:
    """Raises `ValueError` for a header that would end its line."""
    target = quote(address.prefix + path, safe=_PATH) + (f"?{urlencode(query, quote_via=quote)}" if query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    if any("\r" in line or "\n" in line or "\0" in line for line in lines):
        raise ValueError("a header of a request has a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Pool:
    """Connections to one server, `limit` at most."""

    def __init__(self, address: Address, *, limit: int) -> None:
        self.address = address
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[_Wire] = []
        self._wires: set[_Wire] = set()
        self._closed = False

    async def send(
        self, method: str, head: bytes, body: bytes | None, context: ssl.SSLContext | None, *, most: int = 0
    ) -> Answer:
        """One request and its answer. A server that closed a kept connection meanwhile is asked once more, if that
        changes nothing. `Disconnected` once the pool is closed; `AnswerTooLong` for a body of more bytes than `most`,
        if that is not 0."""
        async with self._slots:
            while not self._closed:
                kept = self._take(context)
                wire = kept or await self._connect(context)
                try:
                    ask_to_begin()  # nothing is left to wait for
                    answer = await wire.exchange(head if body is None else head + body, most)
                except Disconnected as error:
                    if kept is None or not error.unanswered or method not in _IDEMPOTENT:
                        raise
                    continue
                except BaseException:
                    wire.close()
                    raise
                if wire.is_open:
                    wire.idle_since = time.monotonic()
                    self._idle.append(wire)
                return answer
        raise Disconnected(unanswered=True)

    def close(self) -> None:
        """Ends all connections; none is made or kept afterwards."""
        self._closed = True
        for wire in list(self._wires):
            wire.close()
        self._idle.clear()

    def _take(self, context: ssl.SSLContext | None) -> _Wire | None:
        """The connection that was used last. One of another certificate, or that was idle for long, is closed."""
        oldest = time.monotonic() - IDLE_SECONDS
        while self._idle:
            wire = self._idle.pop()
            if wire.is_open and wire.context is context and wire.idle_since > oldest:
                return wire
            wire.close()
        return None

    async def _connect(self, context: ssl.SSLContext | None) -> _Wire:
        where = self.address
        loop = asyncio.get_running_loop()
        # uvloop tries one address after the other.
        own = isinstance(loop, asyncio.BaseEventLoop)
        race: dict[str, Any] = {"happy_eyeballs_delay": HAPPY_EYEBALLS_SECONDS} if own else {}
        try:
            _, wire = await loop.create_connection(
                lambda: _Wire(context, self._wires),
                where.host,
                where.port,
                ssl=context,
                server_hostname=where.name if context else None,
                **race,
            )
        except UnicodeError as error:  # IDNA refuses a label of over 63 letters, or of none
            raise CannotConnect(OSError(f"{where.host} is no name of a host: {error}")) from error
        except OSError as error:
            raise CannotConnect(error) from error
        if self._closed:  # while it was made
            wire.close()
            raise Disconnected(unanswered=True)
        return wire


class _Wire(asyncio.Protocol):
    """One connection, and the answer that is being read from it."""

    def __init__(self, context: ssl.SSLContext | None, wires: set[_Wire]) -> None:
        self.context = context
        self.idle_since = 0.0
        self._wires = wires
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[Answer] | None = None
        self._begun = False
        self._head_ended = False
        self._surplus = False
        self._headers = Headers()
        self._chunks: list[bytes] = []
        self._length, self._most = 0, 0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        self._fail(Disconnected(unanswered=not self._begun))  # what has come of an answer is not all of it
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, request: bytes, most: int) -> Answer:
        transport = self._transport
        if transport is None or transport.is_closing():
            raise Disconnected(unanswered=True)
        self._begun, self._head_ended, self._headers, self._chunks = False, False, Headers(), []
        self._length, self._most = 0, most
        self._waiter = asyncio.get_running_loop().create_future()
        transport.write(request)
        try:
            return await self._waiter
        finally:
            self._waiter = None

    # What asyncio and the parser call.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._wires.add(self)

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            self.close()  # nobody has asked for anything
            return
        self._begun = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"the answer is not one of HTTP: {error}"))
            self.close()
        if self._surplus:
            self.close()  # it would be taken for the answer to the next request

    def connection_lost(self, error: Exception | None) -> None:
        self._wires.discard(self)
        self._transport = None
        # An answer without a length ends with its connection (RFC 9112, 6.3).
        bounded = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self._head_ended and error is None and not bounded:
            self._finish()
        self._fail(error or Disconnected(unanswered=not self._begun))

    def on_message_begin(self) -> None:
        self._surplus = self._waiter is None or self._waiter.done()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_ended:  # a trailer, or of what follows the answer
            return
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._head_ended = True

    def on_body(self, body: bytes) -> None:
        self._length += len(body)
        if self._most and self._length > self._most:
            self._chunks.clear()
            self._fail(AnswerTooLong())  # who has asked closes the connection
        else:
            self._chunks.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # the answer follows
            self._head_ended, self._headers = False, Headers()
            return
        kept = self._parser.should_keep_alive()
        self._finish()
        if not kept:
            self.close()

    def _finish(self) -> None:
        body = b"".join(self._chunks)
        self._chunks.clear()
        if self._headers.get("Content-Encoding") == "gzip":
            try:
                body = _decompress(body, self._most)
            except (zlib.error, AnswerTooLong) as error:
                known = isinstance(error, AnswerTooLong)
                self._fail(error if known else ConnectionError(f"the answer is not what it says that it is: {error}"))
                return
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(Answer(self._parser.get_status_code(), self._headers, body))

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


def _decompress(body: bytes, most: int) -> bytes:
    """The content of a body, which may be a thousand times as long. `AnswerTooLong` where it has more than `most`
    bytes."""
    if not most:
        return zlib.decompress(body, _GZIP)
    reader = zlib.decompressobj(_GZIP)
    found = reader.decompress(body, most + 1)
    if len(found) > most:
        raise AnswerTooLong
    if not reader.eof:
        raise zlib.error("it ends too early")
    return found
