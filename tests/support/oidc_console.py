"""A console whose readers sign in by an OpenID Connect provider, before a cluster that is written down."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import jwt
from yarl import URL

from paddock.app.consoles.oidc import OidcProvider
from paddock.client.credentials import Credentials
from paddock.console import oidc
from paddock.console.backend import Backend, Identity
from paddock.console.server import Console
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Unauthorized
from paddock.kube.meta import Manifest
from paddock.serving.server import HttpServer
from support.consoles import PADDLE, Written
from support.oidc_provider import CLIENT, SECRET, Provider

HOST = "console.example.com"


class Cluster:
    """Takes the ID tokens of readers that it knows by name, as the API would; `refuses`: with what."""

    def __init__(self) -> None:
        self.refuses: ApiError | None = None
        self.credentials: dict[str, Credentials] = {}

    async def enter(self, token: str, credentials: Credentials | None = None) -> Identity:
        if self.refuses:
            raise self.refuses
        try:
            name = jwt.decode(token, options={"verify_signature": False})["sub"]
        except jwt.PyJWTError:
            raise Unauthorized("no such token") from None
        if credentials:
            assert (await credentials.get()).token == token
            credentials.accept(await credentials.get())
            self.credentials[name] = credentials
        return Identity(f"of-{name}", name)

    async def look(self, identity: Identity) -> None:
        await self.credentials[identity.name].get()

    async def leave(self, identity: Identity) -> None:
        self.credentials.pop(identity.name, None)

    def connect(self, identity: Identity) -> Api:
        meta = {"name": f"of-{identity.name}", "namespace": "default", "uid": "u", "resourceVersion": "1"}
        job: Manifest = {"apiVersion": PADDLE.api_version, "kind": PADDLE.kind, "metadata": meta, "spec": {}}
        return _Asking({PADDLE: [job]}, self.credentials.get(identity.name))


class _Asking(Written):
    """Each request carries a credential."""

    def __init__(self, known: Mapping[Any, Sequence[Manifest]], credentials: Credentials | None) -> None:
        super().__init__(known)
        self._credentials = credentials

    async def send(self, call: Any) -> Any:
        if self._credentials:
            await self._credentials.get()
        return call


@asynccontextmanager
async def serving(
    cluster: Cluster, provider: Provider, *, clock: Any = time.time, secret: str = SECRET, **options: Any
) -> AsyncIterator[URL]:
    registration = oidc.Registration(provider.issuer, CLIENT, secret)
    by_provider = OidcProvider(registration, provider.trust(), cluster.enter, clock=clock)
    backend = Backend("prod", False, cluster.connect, token_login=cluster, provider=by_provider)
    console = Console(backend, b"k" * 32, frozenset({HOST}), **options)
    server = HttpServer(console.application, cancels=True)
    await server.start("127.0.0.1", 0)
    try:
        yield URL(f"http://127.0.0.1:{server.port}")
    finally:
        await console.close()
        await server.stop()
        await by_provider.close()
