"""The proxy before a board's server: the only way to it, for who has exchanged the one-time link for a cookie.

The board has a host of its own (`board-….localhost`), so a browser sends it nothing that belongs to the console or to
another program of this machine, and sends them nothing of the board's. As decision 44 has it for the console, the
cookie is worth something only below a secret path. The board's server gets neither cookies nor the link, and sets none.
(docs/decisions/0061-a-board-has-a-host-of-its-own.md)
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web
from yarl import URL

from paddock.console.security import is_from_elsewhere, read_host
from paddock.kube.times import Moment
from paddock.words.phrases import Phrase, phrase, render

LINK_SECONDS = 300.0
MOST_BODY = 4 * 2**20
"""Bytes of a request."""
MOST_CALLS = 32
"""At once, to the board's server."""
READ_SECONDS = 300.0
"""Without a byte of an answer: a board computes histograms of large files."""
_CHUNK = 64 * 1024
_OPEN = "/open"
_METHODS = ("GET", "HEAD", "POST")
_FONT = re.compile(r"/font-roboto/[A-Za-z0-9_-]{1,100}\.woff2")
"""TensorBoard asks for its fonts outside of its prefix. They are of its package, and the same for everybody."""

_PASSED_ON = (
    "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "If-Modified-Since", "If-None-Match", "Range",
    "User-Agent",
)  # fmt: skip
_PASSED_BACK = (
    "Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Range",
    "Content-Security-Policy", "Content-Type", "ETag", "Expires", "Last-Modified", "Vary",
)  # fmt: skip

HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Server": "Paddock",
}
"""Of every answer; in place of the board's own, where it has them."""
POLICY = "; ".join(
    (
        "default-src 'self' data: blob:",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "form-action 'self'",
        "base-uri 'self'",
        "object-src 'none'",
        "frame-ancestors 'self'",
    )
)
"""In addition to the board's own policy, and both hold: whatever a program wrote into its files, the page tells it
nobody but the board. The scripts of both programs are written into their pages."""


@dataclass(slots=True)
class Access:
    """Who is let in: the secrets of one board, each made anew."""

    began: Moment
    ticket: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    place: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    mark: str = field(default_factory=lambda: secrets.token_hex(4))
    """In the name of its host and of its cookie."""
    used: bool = False

    @property
    def host(self) -> str:
        return f"board-{self.mark}.localhost"

    @property
    def cookie(self) -> str:
        return f"paddock-board-{self.mark}"

    @property
    def root(self) -> str:
        """The path of all of its pages."""
        return f"/s/{self.place}"

    @property
    def link(self) -> str:
        """The path that lets in, once."""
        return f"{_OPEN}?ticket={self.ticket}"

    def renew(self, now: Moment) -> None:
        """Another link in the place of the last one."""
        self.ticket, self.began, self.used = secrets.token_urlsafe(24), now, False

    def take(self, ticket: str, now: Moment) -> bool:
        """Whether the link is good. It is used up by that."""
        good = not self.used and now - self.began < LINK_SECONDS and _is_equal(ticket, self.ticket)
        self.used |= good
        return good

    def lets_in(self, path: str, cookies: Mapping[str, str]) -> bool:
        below = path == self.root or path.startswith(f"{self.root}/")
        return below and _is_equal(cookies.get(self.cookie, ""), self.session)

    def serves(self, host_header: str) -> bool:
        """Whether a request names this board: a site that has its own name resolve to this machine has that one in its
        requests (DNS rebinding). The port may be that of an ssh tunnel."""
        return read_host(host_header) in (self.host, "127.0.0.1", "::1")


def _is_equal(found: str, wanted: str) -> bool:
    return hmac.compare_digest(found.encode(errors="surrogateescape"), wanted.encode())


class Proxy:
    """An application for `serving.server.HttpServer`, between `start` and `stop`.

    `socket`: where the board's server listens. `language`: of its own sentences. `again`: what whoever is not let in is
    told to do.
    """

    def __init__(
        self,
        access: Access,
        socket: Path,
        *,
        language: str = "en",
        clock: Callable[[], Moment] = time.time,
        again: Phrase | None = None,
    ) -> None:
        self._access, self._socket, self._language, self._clock = access, socket, language, clock
        self._again = again or _explain_link()
        self._session: aiohttp.ClientSession | None = None
        self.last_request = clock()
        """Or when it began to serve."""
        self.application = web.Application(client_max_size=MOST_BODY)
        self.application.router.add_route("*", "/{path:.*}", self._answer)

    async def start(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=READ_SECONDS)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(self._socket), limit=MOST_CALLS, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=timeout,
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        access, path = self._access, request.rel_url.raw_path
        if not access.serves(request.headers.get("Host", "")):
            return self._say(421, _explain_host(access.host))
        if request.method not in _METHODS or is_from_elsewhere(request.method, request.headers):
            return self._say(403, _ELSEWHERE)
        if path == _OPEN:
            return self._let_in(request)
        if _FONT.fullmatch(path):
            return await self._pass_on(request, f"{access.root}{path}")
        if not access.lets_in(path, request.cookies):
            return self._say(401, self._again)
        self.last_request = self._clock()
        if path == access.root:
            return _redirect(f"{access.root}/")
        return await self._pass_on(request, path)

    def _let_in(self, request: web.Request) -> web.Response:
        # Who previews a link does not use it up.
        if request.method != "GET" or not self._access.take(request.query.get("ticket", ""), self._clock()):
            return self._say(401, self._again)
        self.last_request = self._clock()
        answer = _go_on(f"{self._access.root}/", request.headers.get("Sec-Fetch-Site", ""))
        answer.set_cookie(
            self._access.cookie, self._access.session, path=self._access.root, httponly=True, samesite="Strict"
        )
        return answer

    async def _pass_on(self, request: web.Request, path: str) -> web.StreamResponse:
        assert self._session is not None
        address, headers = _address(path, request.rel_url.raw_query_string), _choose(request.headers, _PASSED_ON)
        body = await request.read() if request.can_read_body else None
        try:
            async with self._session.request(
                request.method, address, headers=headers, data=body, allow_redirects=False
            ) as found:
                return await self._pass_back(request, found)
        except (aiohttp.ClientError, TimeoutError, ConnectionError):
            return self._say(502, _GONE)

    async def _pass_back(self, request: web.Request, found: aiohttp.ClientResponse) -> web.StreamResponse:
        answer = web.StreamResponse(status=found.status, headers=_choose(found.headers, _PASSED_BACK))
        answer.headers.update(HEADERS)
        answer.headers.add("Content-Security-Policy", POLICY)
        if (location := _read_location(found.headers.get("Location", ""))) is not None:
            answer.headers["Location"] = location
        if (length := found.headers.get("Content-Length", "")).isdecimal():
            answer.content_length = int(length)
        await answer.prepare(request)
        if request.method == "HEAD":
            return answer
        try:
            async for chunk in found.content.iter_chunked(_CHUNK):
                await answer.write(chunk)
        except (aiohttp.ClientError, TimeoutError):
            # The head is sent: a connection that is cut is the only way to say that the rest is missing.
            if request.transport is not None:
                request.transport.abort()
            return answer
        await answer.write_eof()
        return answer

    def _say(self, status: int, said: Phrase) -> web.Response:
        headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-store"}
        return web.Response(status=status, text=f"{render(said, self._language)}\n", headers=headers)


def _go_on(place: str, site: str) -> web.Response:
    """To the first page. A browser that comes from another site, as from a page of the console, sends no strict cookie
    with a redirect either: it goes there by itself, from a page of this one. `site`: Sec-Fetch-Site."""
    answer = _redirect(place)
    if site == "cross-site":
        del answer.headers["Location"]
        answer.set_status(200)
        answer.headers["Refresh"] = f"0; url={place}"
    return answer


def _redirect(place: str) -> web.Response:
    return web.Response(status=303, headers={**HEADERS, "Location": place, "Cache-Control": "no-store"})


def _address(path: str, query: str) -> URL:
    return URL(f"http://board{path}{'?' if query else ''}{query}", encoded=True)


def _choose(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}


def _read_location(text: str) -> str | None:
    """A path of the board's own; None for an address elsewhere."""
    return text if text.startswith("/") and not text.startswith(("//", "/\\")) else None


def _explain_host(host: str) -> Phrase:
    return phrase(
        "this is a board of Paddock, whose name is {host}: open the link that was printed when it began", host=host
    )


def _explain_link() -> Phrase:
    return phrase(
        "the link lets in once, within five minutes, and the board is then in that browser alone: end it with "
        "Ctrl-C and start it again for another link"
    )


_ELSEWHERE = phrase("a page of another site may ask this board for nothing")
_GONE = phrase("the board's server does not answer: the terminal in which it was started says why")
