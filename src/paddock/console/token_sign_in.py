"""Sign-in with a token of the cluster, for a console that serves many readers.

The token comes once, in a form, and goes to the API with each request of its reader; the browser keeps a session. Over
plain HTTP a token is taken only from this machine, as through `kubectl port-forward`.
"""

from __future__ import annotations

from aiohttp import web

from paddock.console import security
from paddock.console.backend import Identity, TokenLogin
from paddock.console.sign_in_limit import SignInLimit, name_peer
from paddock.console.signed_in import is_https
from paddock.kube.errors import ApiError, Unauthorized
from paddock.words.phrases import Foreign, Phrase, phrase

LONGEST_TOKEN = 16 * 2**10
"""Bytes: an API server takes no longer header."""

ENDED = phrase(
    "your session has ended: the cluster does not take your token any more, or nobody has used the session for hours. "
    "Sign in again"
)


class TokenSignIn:
    """`behind_tls`: a proxy that ends TLS stands before the console and says so (X-Forwarded-Proto)."""

    def __init__(self, token_login: TokenLogin, limit: SignInLimit, *, behind_tls: bool = False) -> None:
        self._token_login, self._limit, self._behind_tls = token_login, limit, behind_tls

    async def enter(self, request: web.Request, token: str) -> Identity | Phrase:
        """Whose the token is, or why nobody is let in. Raises `TooManySignIns` before the API is asked: each token is a
        request to it."""
        if not self.is_private(request):
            return NOT_PRIVATE
        if not token or len(token) > LONGEST_TOKEN:
            return phrase("that is no token: paste the whole of it, as the command prints it")
        peer = self._name_peer(request)
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
        """Whether nobody between the browser and this process can read a token."""
        host, peer = request.headers.get("Host", ""), request.remote or ""
        return is_https(request, behind_tls=self._behind_tls) or security.is_on_this_machine(host, peer)

    def _name_peer(self, request: web.Request) -> str:
        forwarded = request.headers.getall("X-Forwarded-For", [""])[-1] if self._behind_tls else ""
        return name_peer(request.remote or "", forwarded)


NOT_PRIVATE = phrase(
    "this page came over plain HTTP, so a token typed here could be read on its way: open the console by HTTPS, or "
    "through `kubectl port-forward`"
)
