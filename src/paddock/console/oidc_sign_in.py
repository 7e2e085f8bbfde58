"""Sign-in by an OpenID Connect provider, beside that with a token.

    /sign-in/start  ->  the provider  ->  /sign-in/done  ->  a page that goes on by itself

The cookie of a session goes along with no request that another site causes (SameSite=Strict), and a redirect from the
provider's is one: so a page of the console stands between, from which the browser goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from aiohttp import web

from paddock.console.addresses import SIGN_IN, read_next
from paddock.console.answers import redirect, with_retry_after
from paddock.console.backend import Identity, IdentityProvider
from paddock.console.bounds import Full
from paddock.console.oidc import BEGUN_SECONDS, Beginnings, Begun, Refused, Unreachable
from paddock.console.sign_in import Pages
from paddock.console.sign_in_limit import SignInLimit, TooManySignIns
from paddock.console.signed_in import SESSION, SignedIn, is_https
from paddock.console.token_sign_in import TokenSignIn
from paddock.kube.errors import ApiError, Unauthorized
from paddock.kube.times import Moment
from paddock.words.phrases import Foreign, Phrase, phrase

START, DONE = f"{SIGN_IN}/start", f"{SIGN_IN}/done"
COOKIE = "paddock-sign-in"
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+")
_FROM_HERE = frozenset({"", "none", "same-origin"})
"""Sec-Fetch-Site of a reader who clicks or types, and of a browser that does not say it."""


class OidcSignIn:
    """A `sign_in.SignIn` by `provider` or, as `by_token` does it, with a token. Each begun sign-in counts to `limit`
    until somebody is in. `behind_tls`: see `signed_in.is_https`."""

    def __init__(
        self,
        provider: IdentityProvider,
        by_token: TokenSignIn,
        limit: SignInLimit,
        signed_in: SignedIn,
        pages: Pages,
        *,
        behind_tls: bool = False,
        clock: Callable[[], Moment] = time.time,
    ) -> None:
        self._provider, self._by_token, self._limit = provider, by_token, limit
        self._signed_in, self._pages, self._behind_tls, self._clock = signed_in, pages, behind_tls, clock
        self._begun = Beginnings()
        self.probes = by_token.probes

    def add_routes(self, router: web.UrlDispatcher) -> None:
        self._by_token.add_routes(router)
        router.add_get(START, self._start, allow_head=False)
        router.add_get(DONE, self._finish, allow_head=False)

    def refuse(self, request: web.Request) -> web.Response:
        return self._by_token.refuse(request)

    def link_again(self, request: web.Request) -> str:
        return self._by_token.link_again(request)

    async def expel(self, request: web.Request) -> web.Response | None:
        why = self._provider.why_over(request[SESSION].identity)
        if why is None:
            return await self._by_token.expel(request)
        said = phrase("your session has ended: {why}. Sign in again", why=why)
        return await self._by_token.expel_for(request, said)

    async def _start(self, request: web.Request) -> web.Response:
        following = read_next(request.query.get("next", ""))
        if not self._by_token.is_private(request) or request.headers.get("Sec-Fetch-Site", "") not in _FROM_HERE:
            return self._by_token.ask(request, 200, None, following)  # another site begins nobody's sign-in
        try:
            self._limit.take(self._by_token.name_peer(request))
            begun, address = await self._provider.begin(self._name_redirect(request), following)
        except TooManySignIns as error:
            return with_retry_after(self._by_token.ask(request, 429, error.said, following), error.seconds)
        except Refused as error:
            return self._by_token.ask(request, 502, error.said, following)
        self._begun.add(begun)
        answer = redirect(address)
        answer.set_cookie(
            self._name_cookie(request, begun.state), begun.browser,
            max_age=int(BEGUN_SECONDS), path=SIGN_IN, secure=self._is_https(request), httponly=True, samesite="Lax",
        )  # fmt: skip
        return answer

    async def _finish(self, request: web.Request) -> web.Response:
        state = request.query.get("state", "")
        cookie = self._name_cookie(request, state)
        begun = self._begun.take(state, request.cookies.get(cookie, ""), self._clock())
        if begun is None:
            return self._ask(request, 401, NOT_BEGUN, "/")
        answer = await self._let_in(request, begun)
        answer.del_cookie(cookie, path=SIGN_IN, secure=self._is_https(request), httponly=True, samesite="Lax")
        return answer

    async def _let_in(self, request: web.Request, begun: Begun) -> web.Response:
        found = await self._find_reader(request, begun)
        if not isinstance(found, Identity):
            status, said = found
            return self._ask(request, status, said, begun.following)
        self._limit.give_back(self._by_token.name_peer(request))
        try:
            return await self._signed_in.begin(request, found, begun.following, lambda to: self._go_on(request, to))
        except Full as error:
            return self._ask(request, error.status, error.said, begun.following)

    async def _find_reader(self, request: web.Request, begun: Begun) -> Identity | tuple[int, Phrase]:
        """Who has signed in, or the status and the reason of a page that says why nobody has."""
        host = self._provider.host
        try:
            return await self._provider.finish(begun, request.rel_url.raw_query_string)
        except Unreachable as error:
            return 502, error.said
        except Refused as error:
            return 401, error.said
        except Unauthorized:
            return 401, phrase(
                "{host} has signed you in, but the cluster does not take its word: the administrator of the cluster "
                "lets its API server trust the same issuer and client (--oidc-issuer-url, --oidc-client-id). A token "
                "of the cluster lets you in",
                host=host,
            )  # fmt: skip
        except ApiError as error:
            return 401, phrase("the cluster's API does not say who you are: {why}", why=Foreign(error.message))

    def _ask(self, request: web.Request, status: int, said: Phrase, following: str) -> web.Response:
        return self._by_token.ask(_without_code(request), status, said, following)

    def _go_on(self, request: web.Request, address: str) -> web.Response:
        return self._pages.render(_without_code(request), "sign_in_done.html", 200, {"address": address})

    def _name_redirect(self, request: web.Request) -> str:
        """Where the provider sends the browser: this console, by the name under which the browser has it."""
        host = request.headers.get("Host", "")
        if not _HOST.fullmatch(host):
            raise web.HTTPMisdirectedRequest
        return f"{'https' if self._is_https(request) else 'http'}://{host}{DONE}"

    def _name_cookie(self, request: web.Request, state: str) -> str:
        """One for each sign-in: several tabs of one browser may begin one."""
        return f"{'__Secure-' if self._is_https(request) else ''}{COOKIE}-{state[:16]}"

    def _is_https(self, request: web.Request) -> bool:
        return is_https(request, behind_tls=self._behind_tls)


def _without_code(request: web.Request) -> web.Request:
    """As if the sign-in's page were asked for: the links of a page have its own address in them."""
    return request.clone(rel_url=SIGN_IN)


NOT_BEGUN = phrase(
    "this sign-in was not begun in this browser, was begun more than ten minutes ago, or is done already: nobody is "
    "signed in by it. Begin again"
)
