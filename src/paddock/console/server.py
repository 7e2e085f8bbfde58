"""The console's HTTP: who is let in, by a session of their own, and what needs none. One aiohttp application.

Rule: every path but sign-in and static files is below a session's place and needs its cookie; every request that may
change something comes from a page of this console (`security.is_from_elsewhere`). No traceback reaches a reader.
`routes` has what is behind it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from aiohttp import web

from paddock.console import security
from paddock.console.actions.registry import ACTIONS
from paddock.console.addresses import (
    CLUSTERS,
    SESSIONS,
    SIGN_OUT,
    STATIC,
    address_of_cluster,
    is_public,
)
from paddock.console.answers import list_typed, pack, read_form, serve_static
from paddock.console.backend import Backend, Identity
from paddock.console.bounds import OpenPages
from paddock.console.feed import Feed
from paddock.console.kept_answers import KeptAnswers
from paddock.console.link_sign_in import LinkSignIn, UsedTickets
from paddock.console.page_context import Action, Screen
from paddock.console.preferences import keep_preferences
from paddock.console.routes import Routes, add_routes
from paddock.console.screens.registry import SCREENS
from paddock.console.sessions import Sessions
from paddock.console.sign_in import SignIn
from paddock.console.sign_in_limit import SignInLimit
from paddock.console.signed_in import SESSION, SignedIn
from paddock.console.tickets import make_link
from paddock.console.token_sign_in import TokenSignIn
from paddock.kube.api import Api
from paddock.kube.errors import Unauthorized

_WITHIN = SESSIONS + "{place}"

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Console:
    """Serves one backend, by `screens` and `actions`, and below `/c/CONTEXT` the backends of several clusters. `key`
    signs links; `hosts`: names of its own, besides this machine's. `behind_tls`: a proxy before it ends TLS. `clock`:
    the time that pages show ages by. `used_tickets`: links that were used, before they expire. `limit`: how many
    sign-ins. `build_feed`: of an API, and of those of several clusters."""

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
        self._hosts, self._key = hosts, key
        self._signed_in = SignedIn(backend.token_login, self._forget, behind_tls=behind_tls, sessions=sessions)
        self._open_pages, self._clock = open_pages or OpenPages(), clock
        self._routes = Routes(
            backend, self._signed_in, self._open_pages, clock, screens=screens, actions=actions, build_feed=build_feed
        )
        self._clusters: dict[str, Routes] = {}
        self._sign_in = self._choose_sign_in(used_tickets or UsedTickets({}), limit or SignInLimit(), behind_tls)
        self.application = web.Application(middlewares=[self._guard], client_max_size=2 * 2**20)
        self._sign_in.add_routes(self.application.router)
        self.application.router.add_get(STATIC + "{digest}/{name}", serve_static)
        if backend.token_login is not None:
            answers = KeptAnswers(backend, behind_tls=behind_tls)
            answers.add_routes(self.application.router)
        self.application.router.add_post(_WITHIN + SIGN_OUT, self._sign_out)
        add_routes(self.application.router, _WITHIN, self._routes, lambda _: self._routes)

    def _choose_sign_in(self, used_tickets: UsedTickets, limit: SignInLimit, behind_tls: bool) -> SignIn:
        """By token where the backend has a login of tokens, and by its provider; else by link."""
        if login := self.backend.token_login:
            provider = self.backend.provider
            host = provider.host if provider else ""
            by_token = TokenSignIn(login, limit, self._signed_in, self._routes, behind_tls=behind_tls, provider=host,
                                   list_troubles=self.backend.list_troubles)  # fmt: skip
            if provider is None:
                return by_token
            from paddock.console.oidc_sign_in import OidcSignIn  # few consoles have a provider

            return OidcSignIn(provider, by_token, limit, self._signed_in, self._routes, behind_tls=behind_tls)
        return LinkSignIn(self._key, used_tickets, limit, self._signed_in, self._routes)

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
        return make_link(self._key, now, path)

    @property
    def streams(self) -> int:
        """Pages that somebody looks at."""
        return self._open_pages.count

    async def close(self) -> None:
        for each in (self._routes, *self._clusters.values()):
            each.close()
        if self.backend.boards is not None:
            await self.backend.boards.close()

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
            ours = security.choose_headers(answer.content_type, is_static=request.path.startswith(STATIC))
            for name, value in ours.items():
                answer.headers.setdefault(name, value)  # what others wrote has a stricter policy of its own
            answer.headers.setdefault("Cache-Control", "no-store")
            keep_preferences(request, answer)
            pack(request, answer)
        return answer

    async def _explain(self, request: web.Request, error: Exception) -> web.StreamResponse:
        if isinstance(error, Unauthorized) and SESSION in request:
            answer = await self._sign_in.expel(request)
            if answer is not None:
                return answer
        try:
            routes = self._find(request)
        except web.HTTPNotFound:
            routes = self._routes
        return routes.explain(request, error)

    async def _admit(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        await self._signed_in.prune()
        if request.path in self._sign_in.probes:  # before the check of hosts: a kubelet knows none of them
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
            built = {"typed": typed, "said": said, "again": self._sign_in.link_again(request)}
            return self._routes.render(request, "lost.html", 401, built)
        return self._sign_in.refuse(request)

    async def _sign_out(self, request: web.Request) -> web.StreamResponse:
        return await self._signed_in.end(request, request[SESSION])
