"""Sign-in with a token of the cluster, for a console that serves many readers: who a request is from.

The token comes once, in a form, and goes to the API with each request of its reader; the browser keeps the random name
of a session. Over plain HTTP a token is taken only from this machine, as through `kubectl port-forward`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from paddock.console import security
from paddock.console.sessions import Sessions
from paddock.console.tries import Tries, name_peer
from paddock.console.world import Door, Identity
from paddock.jobs.text.phrases import Foreign, Phrase, phrase
from paddock.kube.errors import ApiError, Unauthorized
from paddock.kube.times import Moment

LOOK_SECONDS = 45.0
"""How often an open page asks whether the API still takes its reader's token."""
LONGEST_TOKEN = 16 * 2**10
"""Bytes: an API server takes no longer header."""
PRUNE_SECONDS = 30.0

ENDED = phrase(
    "your session has ended: the cluster does not take your token any more, or nobody has used the session for hours. "
    "Sign in again"
)


class Gate:
    """`behind_tls`: a proxy that ends TLS stands before the console and says so (X-Forwarded-Proto). `on_left` hears of
    each reader whose last session has ended."""

    def __init__(
        self,
        door: Door,
        cookie: str,
        on_left: Callable[[Identity], None],
        tries: Tries,
        *,
        behind_tls: bool = False,
        clock: Callable[[], Moment] = time.time,
    ) -> None:
        self._door, self._cookie, self._on_left = door, cookie, on_left
        self._behind_tls, self._clock = behind_tls, clock
        self._sessions, self._tries = Sessions(), tries
        self._looked: dict[Identity, Moment] = {}
        self._pruned = clock()

    def identify(self, request: web.Request) -> Identity | None:
        return self._sessions.find(request.cookies.get(self._name(request), ""), self._clock())

    def was_inside(self, request: web.Request) -> bool:
        """Whether the browser has the name of a session, of one that is over."""
        return self._name(request) in request.cookies

    async def enter(self, request: web.Request, token: str, following: str = "/") -> web.Response | Phrase:
        """The answer that begins a session and goes on to `following`, or why there is none. Raises `TooManyTries`
        before the API is asked: each token is a request to it."""
        if not self.is_private(request):
            return NOT_PRIVATE
        if not token or len(token) > LONGEST_TOKEN:
            return phrase("that is no token: paste the whole of it, as the command prints it")
        peer = self._name_peer(request)
        self._tries.take(peer)
        try:
            identity = await self._door.enter(token)
        except Unauthorized:
            return phrase("the cluster does not take this token: it is wrong, or it has expired")
        except ApiError as error:
            return phrase("the cluster's API does not say whose token this is: {why}", why=Foreign(error.message))
        self._tries.give_back(peer)
        name = self._sessions.begin(identity, self._clock())
        answer = web.Response(status=303, headers={"Location": following})
        secure = self._is_https(request)
        answer.set_cookie(self._name(request), name, path="/", secure=secure, httponly=True, samesite="Strict")
        return answer

    async def leave(self, request: web.Request, answer: web.StreamResponse) -> None:
        name = self._name(request)
        answer.del_cookie(name, path="/", secure=self._is_https(request), httponly=True, samesite="Strict")
        if identity := self._sessions.end(request.cookies.get(name, "")):
            await self._forget(identity)

    async def expel(self, identity: Identity) -> None:
        """The API does not take this reader's token any more."""
        if identity in self._sessions.readers:
            self._sessions.end_all(identity)
            await self._forget(identity)

    async def prune(self) -> None:
        now = self._clock()
        if now - self._pruned >= PRUNE_SECONDS:
            self._pruned = now
            for identity in self._sessions.prune(now):
                await self._forget(identity)

    async def wait_for_end(self, request: web.Request) -> None:
        """Returns when the session of an open page has ended. An API that does not answer ends none."""
        while (identity := self.identify(request)) is not None:
            if self._clock() - self._looked.get(identity, 0.0) >= LOOK_SECONDS:
                self._looked[identity] = self._clock()
                try:
                    await self._door.look(identity)
                except Unauthorized:
                    await self.expel(identity)
                    return
                except ApiError:
                    pass
            await asyncio.sleep(LOOK_SECONDS)

    def is_private(self, request: web.Request) -> bool:
        """Whether nobody between the browser and this process can read a token."""
        return self._is_https(request) or security.is_host_served(request.headers.get("Host", ""), ())

    def _is_https(self, request: web.Request) -> bool:
        forwarded = request.headers.get("X-Forwarded-Proto", "") if self._behind_tls else ""
        return request.secure or forwarded.strip().lower() == "https"

    def _name_peer(self, request: web.Request) -> str:
        forwarded = request.headers.getall("X-Forwarded-For", [""])[-1] if self._behind_tls else ""
        return name_peer(request.remote or "", forwarded)

    def _name(self, request: web.Request) -> str:
        """`__Host-`: a browser takes it over HTTPS alone, and no other host can set it."""
        return f"__Host-{self._cookie}" if self._is_https(request) else self._cookie

    async def _forget(self, identity: Identity) -> None:
        self._looked.pop(identity, None)
        self._on_left(identity)
        await self._door.leave(identity)


NOT_PRIVATE = phrase(
    "this page came over plain HTTP, so a token typed here could be read on its way: open the console by HTTPS, or "
    "through `kubectl port-forward`"
)
