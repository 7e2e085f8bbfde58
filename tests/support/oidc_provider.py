"""An OpenID Connect provider of a test's own, over HTTPS: it checks what a client sends (code, PKCE, redirect address,
secret), signs with RS256, and lies as it is told."""

from __future__ import annotations

import html
import re
import secrets
import ssl
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jwt
from aiohttp import ClientSession, TCPConnector, web
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from yarl import URL

from paddock.apiserver.http.certificates import Certificates, make_certificates
from paddock.console.addresses import address_of_session, split_place
from support.readers import Page, Reader

CLIENT, SECRET = "console", "s3cret+/:"
_Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Provider:
    """Everybody is signed in at once, as `subject`. `claims`: of each ID token, besides the usual ones or in their
    place. `lives`: seconds of an ID token. `renews`: whether it gives refresh tokens; `renewed`: of renewed ID tokens,
    as `claims`. `instead`: what it answers at a path in place of what is right."""

    certificates: Certificates
    issuer: str = ""
    subject: str = "ann"
    claims: Mapping[str, Any] = field(default_factory=dict)
    renewed: Mapping[str, Any] = field(default_factory=dict)
    lives: float = 3600.0
    renews: bool = True
    instead: dict[str, _Answer] = field(default_factory=dict)
    denies: str = ""
    now: Callable[[], float] = time.time
    posts: list[Mapping[str, str]] = field(default_factory=list)
    """The forms that the token endpoint got."""

    def __post_init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._asked: dict[str, Mapping[str, str]] = {}
        self._refresh = ""
        self.given: list[str] = []
        """All that must be in no log: codes, tokens."""

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificates.authority))

    def build_application(self) -> web.Application:
        app = web.Application()
        for method, path, answer in (
            ("GET", "/.well-known/openid-configuration", self._discover),
            ("GET", "/jwks", self._show_keys),
            ("GET", "/authorize", self._authorize),
            ("POST", "/token", self._give),
        ):
            app.router.add_route(method, path, self._or_instead(path, answer))
        return app

    def _or_instead(self, path: str, answer: _Answer) -> _Answer:
        async def choose(request: web.Request) -> web.StreamResponse:
            return await self.instead.get(path, answer)(request)

        return choose

    async def _discover(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def _show_keys(self, _: web.Request) -> web.StreamResponse:
        key = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return web.json_response({"keys": [{**key, "kid": "1", "alg": "RS256", "use": "sig"}]})

    async def _authorize(self, request: web.Request) -> web.StreamResponse:
        asked = dict(request.query)
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(9)
        self._asked[code] = asked
        self.given.append(code)
        answer = {"error": self.denies, "error_description": "no <b>"} if self.denies else {"code": code}
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode({**answer, 'state': asked['state']})}")

    async def _give(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.posts.append(form)
        pair = f"{CLIENT}:s3cret%2B%2F%3A"
        if b64decode(request.headers.get("Authorization", "")[6:]).decode() != pair:
            return web.json_response({"error": "invalid_client"}, status=401)
        if form["grant_type"] == "refresh_token":
            right = form["refresh_token"] == self._refresh and bool(self._refresh)
            return self._answer({**self.claims, **self.renewed}) if right else _refuse()
        asked = self._asked.pop(form["code"], None)
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if asked is None or asked["redirect_uri"] != form["redirect_uri"] or asked["code_challenge"] != challenge:
            return _refuse()
        return self._answer({"nonce": asked["nonce"], **self.claims})

    def _answer(self, claims: Mapping[str, Any]) -> web.Response:
        self._refresh = secrets.token_urlsafe(9) if self.renews else ""
        token = self.write_token(claims)
        self.given += [token, self._refresh] if self._refresh else [token]
        answer = {"access_token": "a", "token_type": "Bearer", "id_token": token}
        return web.json_response({**answer, "refresh_token": self._refresh} if self._refresh else answer)

    def write_token(self, claims: Mapping[str, Any]) -> str:
        """An ID token; a claim of None is left out."""
        now = self.now()
        usual = {"iss": self.issuer, "aud": CLIENT, "sub": self.subject, "iat": int(now), "exp": int(now + self.lives)}
        said = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode({**said, "jti": secrets.token_hex(4)}, self._key, "RS256", {"kid": "1"})


def _refuse() -> web.Response:
    return web.json_response({"error": "invalid_grant", "error_description": "gone"}, status=400)


@asynccontextmanager
async def providing(directory: Path, **options: Any) -> AsyncIterator[Provider]:
    directory.mkdir(exist_ok=True)
    provider = Provider(make_certificates(directory, time.time()), **options)
    runner = web.AppRunner(provider.build_application(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=provider.certificates.context()).start()
    provider.issuer = f"https://localhost:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()


async def start_sign_in(reader: Reader, following: str = "/", **headers: str) -> Page:
    async with reader.get(f"/sign-in/start?next={quote(following)}", headers=headers, allow_redirects=False) as answer:
        await answer.read()
        return answer


async def ask_provider(provider: Provider, address: str) -> str:
    """Where the provider sends the browser back to."""
    async with (
        ClientSession(connector=TCPConnector(ssl=provider.trust())) as browser,
        browser.get(address, allow_redirects=False) as answer,
    ):
        assert answer.status in (302, 303), await answer.text()
        return answer.headers["Location"]


async def come_back(reader: Reader, address: str, **headers: str) -> Page:
    """What the console answers; the session that it begins is the reader's."""
    path = URL(address, encoded=True).raw_path_qs
    async with reader.get(URL(path, encoded=True), headers=headers, allow_redirects=False) as answer:
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', await answer.text())
        if found:
            reader.root = address_of_session(split_place(html.unescape(found[1]))[0])
        return answer


async def sign_in(reader: Reader, provider: Provider, following: str = "/", **headers: str) -> Page:
    begun = await start_sign_in(reader, following, **headers)
    assert begun.status == 303, await begun.text()
    return await come_back(reader, await ask_provider(provider, begun.headers["Location"]), **headers)


async def read(page: Page) -> str:
    return html.unescape(re.sub(r"\s+", " ", await page.text()))
