"""The console's HTTP: who is let in, by a session of their own, and what needs none. One aiohttp application.

Rule: every path but sign-in and static files is below a session's place and needs its cookie; every request that may
change something comes from a page of this console (`security.is_from_elsewhere`). No traceback reaches a reader.
`routes` has what is behind it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import quote

from aiohttp import web

from paddock.console import security
from paddock.console.actions.registry import ACTIONS
from paddock.console.addresses import (
    CLUSTERS,
    SESSIONS,
    SIGN_IN,
    SIGN_OUT,
    STATIC,
    address_of_cluster,
    is_public,
    read_next,
)
from paddock.console.answers import list_typed, pack, read_form, say_healthy, serve_static, with_retry_after
from paddock.console.backend import Backend, Identity
from paddock.console.bounds import Full, OpenPages
from paddock.console.feed import Feed
from paddock.console.link_sign_in import LinkSignIn, UsedTickets
from paddock.console.page_context import Action, Missing, Screen
from paddock.console.preferences import keep_preferences
from paddock.console.routes import Routes, add_routes
from paddock.console.screens.registry import SCREENS
from paddock.console.sessions import Sessions
from paddock.console.sign_in_limit import SignInLimit, TooManySignIns
from paddock.console.signed_in import SESSION, SignedIn
from paddock.console.token_sign_in import NOT_PRIVATE, TokenSignIn
from paddock.kube.api import Api
from paddock.kube.errors import Unauthorized
from paddock.words.phrases import Phrase

HEALTH = "/healthz"
_WITHIN = SESSIONS + "{place}"

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Console:
    """Serves one backend, by `screens` and `actions`, and below `/c/CONTEXT` the backends of several clusters. `key`
    signs links; `hosts`: names of its own, besides this machine's. `behind_tls`: a proxy before it ends TLS. `clock`:
    the time that pages show ages by. `used_tickets`: links that were used. `limit`: how many sign-ins. `build_feed`: of
    an API, and of those of several clusters."""

    def __init__(
        self,
        backend: Backend,
        key: bytes,
        hosts: frozenset[str] = frozenset(),
        *,
        behind_tls: bool = False,
        clock: Callable[[], float] = time.time,
        used_tickets: UsedTickets | None = None,
        limit: SignInLimit | None = None,
        sessions: Sessions | None = None,
        open_pages: OpenPages | None = None,
        screens: Sequence[Screen] = SCREENS,
        actions: Sequence[Action] = ACTIONS,
        build_feed: Callable[[Api, Mapping[str, Api]], Feed] = Feed,
    ) -> None:
        self.backend = backend
        self.last_request = time.time()
        self._hosts = hosts
        limit = limit or SignInLimit()
        self._link_sign_in = LinkSignIn(key, used_tickets or UsedTickets({}), limit)
        self._token_sign_in = (
            TokenSignIn(backend.token_login, limit, behind_tls=behind_tls) if backend.token_login else None
        )
        self._signed_in = SignedIn(backend.token_login, self._forget, behind_tls=behind_tls, sessions=sessions)
        self._open_pages, self._clock = open_pages or OpenPages(), clock
        self._routes = Routes(
            backend, self._signed_in, self._open_pages, clock, screens=screens, actions=actions, build_feed=build_feed
        )
        self._clusters: dict[str, Routes] = {}
        self.application = web.Application(middlewares=[self._guard], client_max_size=2 * 2**20)
        self._add_public()
        self.application.router.add_post(_WITHIN + SIGN_OUT, self._sign_out)
        add_routes(self.application.router, _WITHIN, self._routes, lambda _: self._routes)

    def _add_public(self) -> None:
        router = self.application.router
        router.add_get(SIGN_IN, self._sign_in)
        if self._token_sign_in:
            router.add_post(SIGN_IN, self._enter)
            router.add_get(HEALTH, say_healthy)
        router.add_get(STATIC + "{digest}/{name}", serve_static)

    def add_clusters(self, backends: Mapping[str, Backend]) -> None:
        """The pages of several clusters, by context, each by a backend of its own."""
        for context, backend in backends.items():
            root = address_of_cluster(context)
            name = root.removeprefix(CLUSTERS)
            self._clusters[name] = Routes(backend, self._signed_in, self._open_pages, self._clock, root=root)
        router, prefix = self.application.router, _WITHIN + CLUSTERS
        router.add_get(prefix, self._routes.begin)
        for each in list(self._clusters.values())[:1]:
            add_routes(router, prefix + "{context}", each, self._find)

    def make_link(self, now: float, path: str = "/") -> str:
        """The address, without host, that signs in once and goes on to `path`."""
        return self._link_sign_in.make(now, path)

    @property
    def streams(self) -> int:
        """Pages that somebody looks at."""
        return self._open_pages.count

    async def close(self) -> None:
        for each in (self._routes, *self._clusters.values()):
            each.close()

    def _forget(self, identity: Identity) -> None:
        for each in (self._routes, *self._clusters.values()):
            each.forget(identity)

    def _find(self, request: web.Request) -> Routes:
        """Whose page it is. Raises `HTTPNotFound` for a context that is not shown here."""
        context = request.match_info.get("context")
        if context is None:
            return self._routes
        if context not in self._clusters:
            raise web.HTTPNotFound
        return self._clusters[context]

    # -- every request

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self.last_request = time.time()
        try:
            answer = await self._admit(request, handler)
        except Exception as error:
            answer = await self._explain(request, error)
        self.last_request = time.time()
        if not answer.prepared:
            is_page = answer.content_type == "text/html"
            answer.headers.update(security.PAGE_HEADERS if is_page else security.HEADERS)
            answer.headers.setdefault("Cache-Control", "no-store")
            keep_preferences(request, answer)
            pack(request, answer)
        return answer

    async def _explain(self, request: web.Request, error: Exception) -> web.StreamResponse:
        if self._token_sign_in and isinstance(error, Unauthorized) and SESSION in request:
            await self._signed_in.expel(request[SESSION].identity)
            del request[SESSION]
            return self._ask_for_token(request, 401, self._routes.ended)
        try:
            routes = self._find(request)
        except web.HTTPNotFound:
            routes = self._routes
        return routes.explain(request, error)

    async def _admit(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        await self._signed_in.prune()
        if self._token_sign_in and request.path == HEALTH:  # a kubelet asks by the address of the pod
            return await handler(request)
        if not security.is_host_served(request.headers.get("Host", ""), self._hosts):
            raise web.HTTPMisdirectedRequest
        if security.is_from_elsewhere(request.method, request.headers):
            raise web.HTTPForbidden
        if any("/" in part or part in (".", "..") for part in request.match_info.values()):
            raise web.HTTPNotFound  # no name is a path, on a disk or in the API
        if is_public(request.path):
            return await handler(request)
        session = self._signed_in.find(request)
        if session is None:
            return await self._refuse(request)
        request[SESSION] = session
        return await handler(request)

    async def _refuse(self, request: web.Request) -> web.StreamResponse:
        """Nobody is signed in. What a form was sent with is shown: nothing is lost."""
        if request.method == "POST":
            typed, said = list_typed(await read_form(request)), self._routes.page_for(request).say(self._routes.ended)
            again = f"{SIGN_IN}?next={quote(read_next(str(request.rel_url)))}" if self._token_sign_in else ""
            return self._routes.render(request, "lost.html", 401, {"typed": typed, "said": said, "again": again})
        if self._token_sign_in:
            return self._ask_for_token(request, 401, self._routes.ended if self._signed_in.had(request) else None)
        return self._routes.notice(request, 401, Missing(self._routes.ended))

    # -- sign-in

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        assert self._token_sign_in
        posted = await read_form(request)
        following = read_next(posted.get("next", ""))
        try:
            entered = await self._token_sign_in.enter(request, posted.get("token", "").strip())
            if not isinstance(entered, Phrase):
                return await self._signed_in.begin(request, entered, following)
        except TooManySignIns as error:
            return with_retry_after(self._ask_for_token(request, 429, error.said, following), error.seconds)
        except Full as error:
            return self._ask_for_token(request, error.status, error.said, following)
        return self._ask_for_token(request, 401, entered, following)

    def _ask_for_token(
        self, request: web.Request, status: int, said: Phrase | None, following: str = ""
    ) -> web.Response:
        """The page where a reader signs in, and then goes on to `following`, else to what was asked for."""
        assert self._token_sign_in
        following = following or read_next(str(request.rel_url))
        is_private = self._token_sign_in.is_private(request)
        why = said if is_private else NOT_PRIVATE
        told = self._routes.page_for(request).say(why) if why else ""
        built = {"why": told, "is_private": is_private, "following": following}
        return self._routes.render(request, "sign_in.html", status, built)

    async def _sign_in(self, request: web.Request) -> web.StreamResponse:
        if self._token_sign_in:
            return self._ask_for_token(request, 200, None, read_next(request.query.get("next", "")))
        if not request.query.get("token") or request.method == "HEAD":  # who previews a link does not use it
            return self._routes.notice(request, 200)
        try:
            if not self._link_sign_in.take(request):
                return self._routes.notice(request, 401)
        except TooManySignIns as error:
            return with_retry_after(self._routes.notice(request, 429, Missing(error.said)), error.seconds)
        following = read_next(request.query.get("next", ""))  # the token leaves the address
        return await self._signed_in.begin(request, Identity(), following)

    async def _sign_out(self, request: web.Request) -> web.StreamResponse:
        return await self._signed_in.end(request, request[SESSION])
