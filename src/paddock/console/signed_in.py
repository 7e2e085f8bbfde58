"""Whose a request is: the sessions of a console as browsers have them, each by a cookie of its own pages alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from paddock.console.addresses import put_below, split_place
from paddock.console.answers import redirect
from paddock.console.backend import Identity, TokenLogin
from paddock.console.sessions import Session, Sessions
from paddock.kube.errors import ApiError, Unauthorized
from paddock.kube.times import Moment

LOOK_SECONDS = 45.0
"""How often an open page asks whether its session goes on, and the API whether it still takes its reader's token."""
ANSWER_SECONDS = 2.0
"""For that answer: a page waits for it."""
PRUNE_SECONDS = 30.0
COOKIE = "paddock-session"

SESSION = web.RequestKey("session", Session)


def is_https(request: web.Request, *, behind_tls: bool) -> bool:
    """Whether the browser speaks HTTPS. `behind_tls`: a proxy that ends TLS stands before the console and says so."""
    forwarded = request.headers.get("X-Forwarded-Proto", "") if behind_tls else ""
    return request.secure or forwarded.strip().lower() == "https"


class SignedIn:
    """`token_login`: of readers with tokens; None for the one reader of a laptop. `on_left` hears of each reader whose
    last session has ended. `behind_tls`: see `is_https`."""

    def __init__(
        self,
        token_login: TokenLogin | None,
        on_left: Callable[[Identity], None],
        *,
        behind_tls: bool = False,
        clock: Callable[[], Moment] = time.time,
        sessions: Sessions | None = None,
    ) -> None:
        self._token_login, self._on_left, self._behind_tls, self._clock = token_login, on_left, behind_tls, clock
        self._sessions = sessions or Sessions()
        self._looked: dict[Identity, Moment] = {}
        self._pruned = clock()

    def find(self, request: web.Request) -> Session | None:
        """The session of this address, if the browser has its cookie."""
        place = split_place(request.rel_url.raw_path)[0]
        return self._sessions.find(place, request.cookies.get(self._name(request), ""), self._clock())

    def had(self, request: web.Request) -> bool:
        """Whether the browser has the cookie of a session at this address, of one that is over."""
        return self._name(request) in request.cookies

    async def begin(
        self,
        request: web.Request,
        identity: Identity,
        following: str,
        go_on: Callable[[str], web.Response] = redirect,
    ) -> web.Response:
        """The answer that lets the reader in and goes on to `following`. `go_on`: an answer that leads to an address.
        Raises `Full`."""
        before, now = self._sessions.readers | {identity}, self._clock()
        self._sessions.prune(now)
        try:
            session = self._sessions.begin(identity, now)
            self._looked[identity] = now  # the API has just taken the token
        finally:
            await self._part(before)
        answer = go_on(put_below(session.root, following))
        secure = is_https(request, behind_tls=self._behind_tls)
        answer.set_cookie(
            self._name(request), session.name, path=session.root, secure=secure, httponly=True, samesite="Strict"
        )
        return answer

    async def end(self, request: web.Request, session: Session) -> web.Response:
        """A copy of the cookie is worth nothing from now on."""
        before = self._sessions.readers
        self._sessions.end(session)
        await self._part(before)
        answer = redirect("/sign-in")
        secure = is_https(request, behind_tls=self._behind_tls)
        answer.del_cookie(self._name(request), path=session.root, secure=secure, httponly=True, samesite="Strict")
        return answer

    async def expel(self, identity: Identity) -> None:
        """The API does not take this reader's token any more."""
        before = self._sessions.readers
        self._sessions.end_all(identity)
        await self._part(before)

    async def prune(self) -> None:
        now = self._clock()
        if now - self._pruned >= PRUNE_SECONDS:
            self._pruned = now
            before = self._sessions.readers
            self._sessions.prune(now)
            await self._part(before)

    async def wait_for_end(self, request: web.Request) -> None:
        """Returns when the session of an open page has ended."""
        while (session := self.find(request)) is not None:
            try:
                await self.look(session.identity)
            except Unauthorized:
                await self.expel(session.identity)
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self, identity: Identity) -> None:
        """Asks the API, once in `LOOK_SECONDS`, whether it still takes this reader's token: what is cached would be
        shown on. Raises `Unauthorized`; an API that does not answer soon ends no session."""
        if self._token_login is None or self._clock() - self._looked.get(identity, 0.0) < LOOK_SECONDS:
            return
        self._looked[identity] = self._clock()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._token_login.look(identity)
        except Unauthorized:
            raise
        except (ApiError, TimeoutError):
            pass

    def _name(self, request: web.Request) -> str:
        """`__Secure-`: a browser takes it over HTTPS alone. `__Host-` would make its path `/`."""
        return f"__Secure-{COOKIE}" if is_https(request, behind_tls=self._behind_tls) else COOKIE

    async def _part(self, before: set[Identity]) -> None:
        """From those who had a session `before`, and have none any more."""
        for identity in before - self._sessions.readers:
            if identity not in self._sessions.readers:  # nor signed in again while another one was let go
                self._looked.pop(identity, None)
                self._on_left(identity)
                if self._token_login:
                    await self._token_login.leave(identity)
