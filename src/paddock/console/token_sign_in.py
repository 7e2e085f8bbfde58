"""Sign-in with a token of the cluster, for a console that serves many readers.

The token comes once, in a form, and goes to the API with each request of its reader; the browser keeps a session. Over
plain HTTP a token is taken only from this machine, as through `kubectl port-forward`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import quote

from aiohttp import web

from paddock.console import security
from paddock.console.addresses import SIGN_IN, read_next
from paddock.console.answers import read_form, say_healthy, with_retry_after
from paddock.console.backend import Identity, TokenLogin
from paddock.console.bounds import Full
from paddock.console.sign_in import Pages
from paddock.console.sign_in_limit import SignInLimit, TooManySignIns, name_peer
from paddock.console.signed_in import SESSION, SignedIn, is_https
from paddock.kube.errors import ApiError, Unauthorized
from paddock.words.phrases import Foreign, Phrase, phrase

HEALTH = "/healthz"
LONGEST_TOKEN = 16 * 2**10
"""Bytes: an API server takes no longer header."""


def say_ended(provider: str) -> Phrase:
    """Of a session that is over. `provider`: the host of the one by which readers may have signed in, or empty."""
    if not provider:
        return phrase(
            "your session has ended: the cluster does not take your token any more, or nobody has used the session for "
            "hours. Sign in again"
        )
    return phrase(
        "your session has ended: your sign-in by {host} has expired or was not renewed, the cluster does not take your "
        "token any more, or nobody has used the session for hours. Sign in again",
        host=provider,
    )


class TokenSignIn:
    """A `sign_in.SignIn` of many readers. `behind_tls`: a proxy that ends TLS stands before the console and says so
    (X-Forwarded-Proto). `provider`: the host of an OpenID Connect provider that its page offers too, or empty.
    `list_troubles`: as in `backend.Backend`."""

    probes = frozenset({HEALTH})

    def __init__(
        self,
        token_login: TokenLogin,
        limit: SignInLimit,
        signed_in: SignedIn,
        pages: Pages,
        *,
        behind_tls: bool = False,
        provider: str = "",
        list_troubles: Callable[[], Sequence[Phrase]] | None = None,
    ) -> None:
        self._list_troubles = list_troubles or tuple
        self._token_login, self._limit, self._behind_tls = token_login, limit, behind_tls
        self._provider, self._ended = provider, say_ended(provider)
        self._signed_in, self._pages = signed_in, pages

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get(SIGN_IN, self._show)
        router.add_post(SIGN_IN, self._enter)
        router.add_get(HEALTH, self._say_healthy)

    async def _say_healthy(self, _: web.Request) -> web.StreamResponse:
        return say_healthy(self._list_troubles())

    def refuse(self, request: web.Request) -> web.Response:
        return self.ask(request, 401, self._ended if self._signed_in.had(request) else None)

    def link_again(self, request: web.Request) -> str:
        return f"{SIGN_IN}?next={quote(read_next(str(request.rel_url)))}"

    async def expel(self, request: web.Request) -> web.Response | None:
        return await self.expel_for(request, self._ended)

    async def expel_for(self, request: web.Request, why: Phrase) -> web.Response:
        """See `expel`."""
        await self._signed_in.expel(request[SESSION].identity)
        del request[SESSION]
        return self.ask(request, 401, why)

    async def _show(self, request: web.Request) -> web.Response:
        return self.ask(request, 200, None, read_next(request.query.get("next", "")))

    async def _enter(self, request: web.Request) -> web.Response:
        posted = await read_form(request)
        following = read_next(posted.get("next", ""))
        try:
            entered = await self._find_reader(request, posted.get("token", "").strip())
            if not isinstance(entered, Phrase):
                return await self._signed_in.begin(request, entered, following)
        except TooManySignIns as error:
            return with_retry_after(self.ask(request, 429, error.said, following), error.seconds)
        except Full as error:
            return self.ask(request, error.status, error.said, following)
        return self.ask(request, 401, entered, following)

    def ask(self, request: web.Request, status: int, said: Phrase | None, following: str = "") -> web.Response:
        """The page where a reader signs in, and then goes on to `following`, else to what was asked for."""
        following = following or read_next(str(request.rel_url))
        is_private = self.is_private(request)
        why = said if is_private else NOT_PRIVATE
        told = self._pages.page_for(request).say(why) if why else ""
        built = {"why": told, "is_private": is_private, "following": following, "provider": self._provider}
        return self._pages.render(request, "sign_in.html", status, built)

    async def _find_reader(self, request: web.Request, token: str) -> Identity | Phrase:
        """Whose the token is, or why nobody is let in. Raises `TooManySignIns` before the API is asked: each token is a
        request to it."""
        if not self.is_private(request):
            return NOT_PRIVATE
        if not token or len(token) > LONGEST_TOKEN:
            return phrase("that is no token: paste the whole of it, as the command prints it")
        peer = self.name_peer(request)
        self._limit.take(peer)
        try:
            identity = await self._token_login.enter(token)
        except Unauthorized:
            return phrase("the cluster does not take this token: it is wrong, or it has expired")
        except ApiError as error:
            return phrase("the cluster's API does not say whose token this is: {why}", why=Foreign(error.message))
        self._limit.give_back(peer)
        return identity

    def is_private(self, request: web.Request) -> bool:
        return is_private(request, behind_tls=self._behind_tls)

    def name_peer(self, request: web.Request) -> str:
        return find_peer(request, behind_tls=self._behind_tls)


def is_private(request: web.Request, *, behind_tls: bool) -> bool:
    """Whether nobody between who asks and this process can read a token."""
    host, peer = request.headers.get("Host", ""), request.remote or ""
    return is_https(request, behind_tls=behind_tls) or security.is_on_this_machine(host, peer)


def find_peer(request: web.Request, *, behind_tls: bool) -> str:
    """Whose tries to sign in this one counts to."""
    forwarded = request.headers.getall("X-Forwarded-For", [""])[-1] if behind_tls else ""
    return name_peer(request.remote or "", forwarded)


NOT_PRIVATE = phrase(
    "this page came over plain HTTP, so a token typed here could be read on its way: open the console by HTTPS, or "
    "through `kubectl port-forward`"
)
