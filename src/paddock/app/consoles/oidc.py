"""Sign-in by OpenID Connect: what is sent to the provider, and the tokens that it renews. Thin: `console.oidc` decides.

Where the provider gives a refresh token, the requests of its reader carry a fresh ID token, which is fetched before the
old one expires. A provider that refuses ends the session, with its reason; one that does not answer is asked again.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from weakref import WeakValueDictionary

import aiohttp
from yarl import URL

from paddock.app.health import CannotServe
from paddock.client.credentials import Credentials
from paddock.client.identity import Credential
from paddock.console import oidc
from paddock.console.backend import Identity
from paddock.kube.errors import Unauthorized, Unavailable
from paddock.kube.times import Moment
from paddock.serving.http_proxies import find_proxy
from paddock.words.phrases import Foreign, Phrase, phrase

REQUEST_SECONDS = 10.0
"""For a whole answer of the provider: a reader waits."""
DISCOVERY_SECONDS = 3600.0
"""How long the addresses of a provider are taken for known."""
_EARLY_SECONDS = 60.0
"""How long before its end a token is renewed; of one that lives for less than four minutes, a quarter of its life."""
AGAIN_SECONDS = 10.0
"""After which a provider that did not answer is asked again."""

Enter = Callable[[str, Credentials], Awaitable[Identity]]
"""Lets in whose the ID token is; raises as `console.backend.TokenLogin.enter`. Requests carry the credentials."""


class OidcProvider:
    """A `console.backend.IdentityProvider`."""

    def __init__(
        self,
        registration: oidc.Registration,
        trust: ssl.SSLContext,
        enter: Enter,
        *,
        clock: Callable[[], Moment] = time.time,
    ) -> None:
        self._registration, self._trust, self._enter, self._clock = registration, trust, enter, clock
        self._session: aiohttp.ClientSession | None = None
        self._endpoints: oidc.Endpoints | None = None
        self._known_at = 0.0
        self._renewed: WeakValueDictionary[str, RenewedCredentials] = WeakValueDictionary()
        """By the identities of their readers, as long as these are signed in."""

    @property
    def host(self) -> str:
        return self._registration.host

    async def begin(self, redirect: str, following: str) -> tuple[oidc.Begun, str]:
        endpoints = await self._find_endpoints()
        begun = oidc.begin(redirect, following, self._clock())
        return begun, oidc.build_authorization(self._registration, endpoints, begun)

    async def finish(self, begun: oidc.Begun, query: str) -> Identity:
        code = oidc.read_code(self._registration, begun, query)
        endpoints = await self._find_endpoints()
        post = oidc.build_exchange(self._registration, endpoints, begun, code)
        status, body = await self._ask(post.address, post)
        tokens = oidc.read_tokens(self._registration, begun, status, body, self._clock())
        credentials = RenewedCredentials(tokens, self._renew, self._registration.host, self._clock)
        identity = await self._enter(tokens.id, credentials)
        self._renewed[identity.id] = credentials
        return identity

    def why_over(self, identity: Identity) -> Phrase | None:
        found = self._renewed.get(identity.id)
        return found.over if found else None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _renew(self, tokens: oidc.Tokens) -> oidc.Tokens:
        endpoints = await self._find_endpoints()
        post = oidc.build_renewal(self._registration, endpoints, tokens)
        status, body = await self._ask(post.address, post)
        return oidc.read_tokens(self._registration, tokens, status, body, self._clock())

    async def _find_endpoints(self) -> oidc.Endpoints:
        """Raises `Refused`: what is not known is asked for at each sign-in."""
        if self._endpoints is None or not 0 <= self._clock() - self._known_at < DISCOVERY_SECONDS:
            status, body = await self._ask(oidc.address_of_discovery(self._registration.issuer))
            self._endpoints = oidc.read_endpoints(self._registration, status, body)
            self._known_at = self._clock()
        return self._endpoints

    async def _ask(self, address: str, post: oidc.Post | None = None) -> tuple[int, bytes]:
        """The status and the body of an answer. No redirect is followed: a secret goes to the address that was named.
        Raises `Unreachable`, and `Refused` for an answer without end."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._trust),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
            )
        method, body, headers = ("POST", post.body, post.headers) if post else ("GET", None, None)
        try:
            # A provider may be outside of the cluster. No `trust_env`: it would send a password of ~/.netrc along.
            async with self._session.request(
                method, address, data=body, headers=headers, allow_redirects=False, proxy=find_proxy(URL(address))
            ) as answer:
                return answer.status, await self._read(answer)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise oidc.Unreachable(self._explain(error)) from None

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > oidc.LONGEST_ANSWER:
                said = phrase(
                    "{host} answers with more than {most} bytes, which is no answer of OpenID Connect",
                    host=self.host, most=oidc.LONGEST_ANSWER,
                )  # fmt: skip
                raise oidc.Refused(said)
        return bytes(body)

    def _explain(self, error: Exception) -> Phrase:
        if isinstance(error, TimeoutError):
            return phrase("{host} has not answered within {count} seconds", host=self.host, count=int(REQUEST_SECONDS))
        if isinstance(error, (aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError)):
            return phrase(
                "the certificate of {host} is not trusted here: the administrator of this console gives its authority "
                "with --oidc-ca",
                host=self.host,
            )  # fmt: skip
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return phrase("the console finds no address of the name {host}", host=self.host)
        number = error.errno if isinstance(error, OSError) else None
        why = Foreign(os.strerror(number)) if number else type(error).__name__
        return phrase("{host} cannot be reached from the console: {why}", host=self.host, why=why)


class RenewedCredentials:
    """A `client.credentials.Credentials`: the ID token of one reader, renewed before it expires. `over`: why there is
    no token any more; None as long as there is. Raises `Unauthorized` then, and `Unavailable` while a token that has
    expired could not be renewed as the provider does not answer."""

    def __init__(
        self,
        tokens: oidc.Tokens,
        renew: Callable[[oidc.Tokens], Awaitable[oidc.Tokens]],
        host: str,
        clock: Callable[[], Moment],
    ) -> None:
        self.over: Phrase | None = None
        self._renew, self._host, self._clock = renew, host, clock
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._silent: Phrase | None = None
        self._accepted = False
        self._keep(tokens)

    async def get(self) -> Credential:
        if self.over is None and self._clock() < self._renew_at:
            return self._credential
        async with self._lock:
            return await self._look()

    async def replace(self, rejected: Credential) -> Credential | None:
        """The API may take an ID token no longer than it says. One that it never took is not renewed: it does not trust
        the issuer, and would not take the next one."""
        async with self._lock:
            if rejected == self._credential and self._accepted and self._tokens.refresh and self.over is None:
                await self._ask()
            return None if rejected == self._credential else self._credential

    def accept(self, credential: Credential) -> None:
        self._accepted = self._accepted or credential == self._credential

    async def close(self) -> None:
        """The tokens are forgotten."""
        self._keep(oidc.Tokens("", "", "", "", 0.0))
        self.over = self.over or phrase("you have signed out")

    async def _look(self) -> Credential:
        if self.over is None and self._clock() >= self._renew_at and self._tokens.refresh:
            await self._ask()
        if self.over is None and self._clock() >= self._tokens.expires and not self._tokens.refresh:
            self.over = phrase("your sign-in by {host} has expired, and it gave nothing to renew it", host=self._host)
        if self.over is not None:
            raise Unauthorized(str(self.over))
        if self._silent is not None and self._clock() >= self._tokens.expires:
            raise Unavailable(str(phrase("your sign-in is not renewed: {why}", why=self._silent)))
        return self._credential

    async def _ask(self) -> None:
        """Keeps the new tokens, or why there are none."""
        if self._clock() - self._asked_at < AGAIN_SECONDS and self._silent is not None:
            return
        self._asked_at = self._clock()
        try:
            self._keep(await self._renew(self._tokens))
            self._silent = None
        except oidc.Unreachable as error:
            self._silent = error.said
        except oidc.Refused as error:
            self.over = error.said

    def _keep(self, tokens: oidc.Tokens) -> None:
        self._tokens, self._credential, self._accepted = tokens, Credential(tokens.id, expires=tokens.expires), False
        now = self._clock()
        self._renew_at = tokens.expires - min(_EARLY_SECONDS, max(0.0, tokens.expires - now) / 4)


def read_secret(path: Path | None) -> str:
    """The client's secret, without the line end that editors write. Raises `CannotServe`."""
    if path is None:
        return ""
    try:
        secret = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _cannot_use("--oidc-client-secret-file", path, error) from None
    if not secret:
        raise CannotServe(phrase("{flag}: {path} is empty", flag="--oidc-client-secret-file", path=str(path)))
    return secret


def build_trust(path: Path | None) -> ssl.SSLContext:
    """Whom the console believes to be the provider: this machine's authorities, or those of a file (PEM) alone. Raises
    `CannotServe`."""
    try:
        return ssl.create_default_context(cadata=path.read_text("utf-8") if path else None)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise _cannot_use("--oidc-ca", path or Path(), error) from None


def _cannot_use(flag: str, path: Path, error: Exception) -> CannotServe:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return CannotServe(phrase("{flag}: cannot use {path}: {why}", flag=flag, path=str(path), why=why))
