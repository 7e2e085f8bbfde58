"""Stands before a real registry and lies, cuts, refuses, or asks who somebody is, as it is told."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

TOKEN = "t" * 40


@dataclass(slots=True)
class Faults:
    """What goes wrong, and what was asked for."""

    cut_downloads: int = 0
    """How many answers with blobs end in their middle."""
    cut_uploads: int = 0
    """How many uploads lose their connection after half of their bytes."""
    resumes: bool = False
    """Whether what has come of an upload that was cut is kept, as the specification has it (not in docker-registry)."""
    lies: str = ""
    """`blobs` or `manifests`: of these a byte is another one."""
    refuses: dict[str, int] = field(default_factory=dict)
    """By `METHOD path` as a regular expression, the status."""
    user: str = ""
    """`name:password`, which has to be told for a token; empty for nobody."""
    identity: str = ""
    """An identity token that is taken for a token too."""
    elsewhere: str = ""
    """An address to which blobs that are read are redirected."""
    uploads_at: str = ""
    """Where uploads are to be sent, in place of its own address."""
    realm: str = ""
    """What is said of where tokens are, in place of its own."""
    stalls: bool = False
    """Nothing of an upload is taken."""
    asked: list[str] = field(default_factory=list)
    """`METHOD path`, each request."""
    heard: set[str] = field(default_factory=set)
    """The ways in which somebody said who they are; empty for nobody."""
    sent: int = 0
    """Bytes of uploads that have come."""
    scopes: list[str] = field(default_factory=list)
    """What tokens were asked for."""


@asynccontextmanager
async def serve_faulty(upstream: str, faults: Faults, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address, as in `127.0.0.1:40002`. `upstream`: that of the real one."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        proxy = _Proxy(upstream, faults, session)
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        proxy.host = f"127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield proxy.host
        finally:
            await runner.cleanup()


class _Proxy:
    def __init__(self, upstream: str, faults: Faults, session: aiohttp.ClientSession) -> None:
        self._upstream, self._faults, self._session, self.host = upstream, faults, session, ""
        self._kept: dict[str, bytes] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        faults = self._faults
        faults.asked.append(f"{request.method} {request.path}")
        faults.heard.add(request.headers.get("Authorization", "").partition(" ")[0])
        if request.path == "/token":
            return await self._give_token(request)
        if faults.user and request.headers.get("Authorization") != f"Bearer {TOKEN}":
            realm = faults.realm or f"http://{self.host}/token"
            challenge = f'Bearer realm="{realm}",service="here"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        for pattern, status in faults.refuses.items():
            if re.search(pattern, f"{request.method} {request.path}"):
                body = '{"errors":[{"code":"DENIED","message":"requested access\\u001b[31m is denied"}]}'
                return web.Response(status=status, text=body)
        if faults.elsewhere and "/blobs/sha256" in request.path:
            return web.Response(status=307, headers={"Location": f"{faults.elsewhere}{request.path}"})
        if faults.uploads_at and request.method == "POST" and request.path.endswith("/blobs/uploads/"):
            return web.Response(status=202, headers={"Location": f"{faults.uploads_at}{request.path}1"})
        if faults.stalls and request.method == "PATCH":
            await asyncio.sleep(3600)
        return await self._pass_on(request)

    async def _give_token(self, request: web.Request) -> web.Response:
        faults = self._faults
        if request.method == "POST":
            form = await request.post()
            faults.scopes += str(form["scope"]).split()
            if form["refresh_token"] == faults.identity:
                return web.json_response({"access_token": TOKEN})
            return web.json_response({"errors": [{"code": "UNAUTHORIZED"}]}, status=401)
        faults.scopes += request.query.getall("scope")
        wanted = f"Basic {base64.b64encode(faults.user.encode()).decode()}"
        if request.headers.get("Authorization") == wanted:
            return web.json_response({"token": TOKEN})
        return web.json_response({"errors": [{"code": "UNAUTHORIZED", "message": "who are you"}]}, status=401)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        faults = self._faults
        cut = request.method == "PATCH" and faults.cut_uploads > 0
        body = begun = self._kept.get(request.path, b"")
        if begun and request.method == "GET":
            return web.Response(status=204, headers={"Range": f"0-{len(begun) - 1}"})
        if begun and request.method == "PATCH":
            assert request.headers["Content-Range"].startswith(f"{len(begun)}-")
            del self._kept[request.path]
        if request.method != "PATCH":
            body = begun = b""
        size = int(request.headers.get("Content-Length", 0))
        async for piece in request.content.iter_chunked(2**16):
            body += piece
            if cut and len(body) - len(begun) >= size // 2:
                break
        faults.sent += len(body) - len(begun) if request.method == "PATCH" else 0
        if cut and faults.resumes:
            self._kept[request.path] = body
            return self._cut(request)
        headers = {name: value for name, value in request.headers.items() if name in _PASSED}
        url = f"http://{self._upstream}{request.path_qs}"
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            if cut:
                return self._cut(request)
            content = await answer.read()
            return await self._answer(request, answer, content)

    def _cut(self, request: web.Request) -> web.Response:
        self._faults.cut_uploads -= 1
        assert request.transport is not None
        request.transport.abort()
        return web.Response(status=500)

    async def _answer(self, request: web.Request, answer: aiohttp.ClientResponse, content: bytes) -> web.StreamResponse:
        faults = self._faults
        kept = {name: value for name, value in answer.headers.items() if name not in _NOT_BACK}  # and http, behind TLS
        if "Location" in kept:
            kept["Location"] = kept["Location"].replace(self._upstream, self.host)
        if faults.lies and f"/{faults.lies}/" in request.path and request.method == "GET" and content:
            content = content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]
        if request.method == "HEAD":
            return web.Response(status=answer.status, headers=kept)
        if faults.cut_downloads > 0 and "/blobs/sha256" in request.path and request.method == "GET":
            faults.cut_downloads -= 1
            response = web.StreamResponse(status=answer.status, headers={**kept, "Content-Length": str(len(content))})
            await response.prepare(request)
            await response.write(content[: len(content) // 2])
            assert request.transport is not None
            request.transport.close()
            return response
        kept.pop("Content-Length", None)
        return web.Response(status=answer.status, headers=kept, body=content)


_PASSED = ("Accept", "Content-Type", "Range", "Content-Range")
_NOT_BACK = ("Transfer-Encoding", "Connection", "Date", "Content-Encoding")
