"""The embedded Kubernetes API over HTTPS, for kubectl and all other clients: 127.0.0.1 only, one token, one port.

Each request passes one middleware: Host header, then token, then handler. Every error becomes a `Status` object.
Rule: every path needs the token, except `authentication.OPEN_PATHS` and the paths whose handlers authenticate their
clients themselves (`own_login`, and that of `trainer_status`).
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from paddock.apiserver.access.tokens import Tokens
from paddock.apiserver.access.users import OWNER, User
from paddock.apiserver.http.authentication import (
    OPEN_PATHS,
    build_hosts,
    check_host,
    explain_unauthorized,
    holds_token,
    make_token,
    read_bearer,
)
from paddock.apiserver.http.bodies import BODY_LIMIT
from paddock.apiserver.http.certificates import make_certificates
from paddock.apiserver.http.documents import Documents
from paddock.apiserver.http.files import write_private
from paddock.apiserver.http.handlers import USER, Handlers
from paddock.apiserver.http.kubeconfig import build_kubeconfig, write_kubeconfig
from paddock.apiserver.http.pod_logs import PodLogs
from paddock.apiserver.http.pod_stacks import StackTaker
from paddock.apiserver.http.requests import read_attributes
from paddock.apiserver.http.self_report import SelfReport
from paddock.apiserver.http.trainer_status import Reports, TrainerPath
from paddock.apiserver.objects.access import Access
from paddock.apiserver.objects.computed import Usages
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.streaming.server import PodStreaming
from paddock.kube.errors import ApiError, BadRequest, InternalError, MethodNotAllowed, NotFound, TooLarge, build_status
from paddock.kube.pod_streams import PodStreams
from paddock.serving.server import LIMITS, HttpServer, Limits

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
_READ_BYTES = 32 * 1024
"""Twice as much of a body may wait in each connection for its turn."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class CannotListen(OSError):
    """The port cannot be bound; the message says why and what to do."""


class Server:
    """Serves a `LocalApi`. `directory` holds token, certificates and kubeconfig file, readable by this user only.
    `logs` and `stacks` of pods and `usages` of pods and nodes come from who runs them, who keeps the `reports` of their
    programs too, and who lets clients into pods by `streams`; without, none is served."""

    def __init__(
        self,
        api: LocalApi,
        directory: Path,
        *,
        logs: PodLogs | None = None,
        stacks: StackTaker | None = None,
        usages: Usages | None = None,
        reports: Reports[Any] | None = None,
        streams: PodStreams | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.url = ""
        self.token = ""
        self.kubeconfig = directory / "kubeconfig"
        self.certificate_authority = directory / "ca.crt"
        self.own_login: set[str] = set()
        """First path segments (`console`) whose handlers authenticate their clients themselves."""
        self.application = web.Application(middlewares=[self._guard], client_max_size=BODY_LIMIT)
        self._objects = api.objects
        self._directory = directory
        self._hosts: frozenset[str] = frozenset()
        if usages is not None:
            api.objects.compute(usages)
        self._documents = Documents(api.objects)
        self._streaming = None if streams is None else PodStreaming(streams)
        tokens = Tokens(directory / "service-accounts.key", write_private, api.objects.clock)
        self.access = Access(api.objects, tokens, self._is_owner)
        self._handlers = Handlers(api.objects, self.access, logs, stacks, self._streaming)
        self._trainer = None if reports is None else TrainerPath(reports)
        self._report = SelfReport(api.objects.store)
        self._beating: asyncio.Task[None] | None = None
        self._limits = limits
        self._server: HttpServer | None = None
        self._open_requests = 0
        self._last_request = api.objects.clock()
        for path in ("/api", "/apis", "/openapi", "/version", "/livez", "/readyz", "/healthz", "/metrics", "/paddock"):
            self.application.router.add_route("*", path, self._serve)
            self.application.router.add_route("*", path + "/{rest:.*}", self._serve)

    @property
    def last_request(self) -> float:
        """Time of the last HTTP request; the current time while one is open (a watch, a followed log, a shell)."""
        return self._objects.clock() if self._open_requests else self._last_request

    async def start(self, port: int = 0) -> None:
        """Starts serving; port 0 takes a free port. Raises `CannotListen` (an OSError) if the port cannot be bound,
        `OSError` if the directory cannot be written."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # `mkdir` leaves the mode of a directory that exists already.
        os.chmod(self._directory, 0o700)  # noqa: PTH101 - one call
        certificates = make_certificates(self._directory, self._objects.clock())
        self.token = make_token(self._directory)
        # Without `handler_cancellation`, a watch would notice a disconnected client only at its next write.
        # A body that aiohttp decompresses can be a thousand times as long as what was sent.
        server = HttpServer(
            self.application, limits=self._limits, cancels=True, auto_decompress=False, read_bufsize=_READ_BYTES
        )
        try:
            await server.start(HOST, port, certificates.context())
        except OSError as error:
            raise _explain_listen(error, port) from error
        self._server = server
        self._beating = asyncio.create_task(self._report.heartbeat.run())
        bound = server.port
        self._hosts = build_hosts(bound)
        self.url = f"https://{HOST}:{bound}"
        config = build_kubeconfig(self.url, certificates.authority.read_bytes(), self.token)
        write_kubeconfig(self.kubeconfig, config)

    async def stop(self) -> None:
        """Ends watches and shells, lets short responses finish, and frees the port."""
        if self._beating is not None:
            self._beating.cancel()
        if self._server is not None:
            server, self._server = self._server, None
            # In-process followers stay subscribed: the store outlives the server.
            self._objects.hub.close(bounded_only=True)
            if self._streaming is not None:
                await self._streaming.stop()
            await server.stop()

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self._open_requests += 1
        try:
            self._check(request)
            return await handler(request)
        except ApiError as error:
            answer = _answer_error(error)
            # Its frames hold the body of the request, and something may hold the error in a circle.
            error.__traceback__ = error.__context__ = None
            return answer
        except web.HTTPException as error:
            return self._translate(request, error)
        except UnicodeEncodeError as error:  # a header may have any bytes: the user of `--as` is in the answer
            return _answer_error(BadRequest(f"{error.object!r:.200} is no text of Unicode, and cannot be answered"))
        # The client has disconnected (handler_cancellation) or the server stops: not an error of ours.
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return _answer_error(InternalError("the API server failed at this request; its log has the details"))
        finally:
            self._open_requests -= 1
            self._last_request = self._objects.clock()

    def _check(self, request: web.Request) -> None:
        # The host is checked on every path: DNS rebinding must not reach pages with a login of their own either.
        if error := check_host(request.headers.get("Host", ""), self._hosts):
            raise error
        if _first_segment(request.path) in self.own_login or self._is_open(request):
            return
        request[USER] = self.access.impersonate(self._find_user(request), request.headers)

    def _is_open(self, request: web.Request) -> bool:
        """Whether no token of the API is asked for: by everybody, or the trainer's path has a token of its own."""
        return request.path in OPEN_PATHS or (self._trainer is not None and self._trainer.serves(request))

    def _is_owner(self, token: str) -> bool:
        return bool(self.token) and holds_token(token, self.token)

    def _find_user(self, request: web.Request) -> User:
        """Raises `Unauthorized` for whom nobody knows."""
        token = read_bearer(request.headers.get("Authorization", ""))
        user = OWNER if self._is_owner(token) else self.access.find_user(token)
        if user is None:
            raise explain_unauthorized()
        return user

    def _translate(self, request: web.Request, error: web.HTTPException) -> web.StreamResponse:
        """Turns aiohttp's own errors into a Status; errors under `own_login` paths pass unchanged."""
        if _first_segment(request.path) in self.own_login:
            raise error
        if isinstance(error, web.HTTPRequestEntityTooLarge):
            return _answer_error(TooLarge(f"Request entity too large: limit is {BODY_LIMIT} bytes"))
        if isinstance(error, web.HTTPMethodNotAllowed):
            return _answer_error(MethodNotAllowed(f"{request.method} is not allowed on {request.path}"))
        if isinstance(error, web.HTTPNotFound):
            return _answer_error(NotFound(f"the server could not find the requested resource: {request.path}"))
        raise error

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        # A request that has no user, and that is not open, is an error of the server, and never answered.
        if not self._is_open(request) and not (user := request[USER]).may_everything:
            self.access.check(user, read_attributes(request.method, request.path, request.query))
        if request.method in ("GET", "HEAD"):
            document = await self._documents.find(request)
            if document is None:
                document = self._report.find(request)
            if document is not None:
                return document
        if self._trainer is not None and self._trainer.serves(request):
            return await self._trainer.answer(request)
        return await self._handlers.handle(request)


def _first_segment(path: str) -> str:
    """`console` of `/console/x`; empty for `*`, which is a legal target of OPTIONS."""
    return path.removeprefix("/").partition("/")[0] if path.startswith("/") else ""


def _answer_error(error: ApiError) -> web.Response:
    headers = {"Cache-Control": "no-cache, private"}
    if error.code == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="paddock"'
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    status = build_status(error)
    try:
        body = msgspec.json.encode(status)
    except UnicodeEncodeError:  # it tells of a header whose bytes are no UTF-8
        body = json.dumps(status, ensure_ascii=False).encode(errors="replace")
    return web.Response(body=body, status=error.code, content_type="application/json", headers=headers)


def _explain_listen(error: OSError, port: int) -> CannotListen:
    if error.errno == errno.EADDRINUSE:
        text = f"port {port} of {HOST} is taken by another program: choose another port, or none for a free one"
    elif error.errno in (errno.EACCES, errno.EPERM):
        text = f"port {port} of {HOST} is not allowed to this user: choose one of 1024 or more"
    else:
        text = f"cannot listen on port {port} of {HOST}: {error.strerror or error}"
    return CannotListen(error.errno, text)
