"""What is kept of a cluster, for programs: JSON and the bytes of logs (`history.answers` has the forms).

There is no session: each request has its reader's own token of the cluster, which goes on to the API alone. Nothing
here changes anything. A token is taken as a browser's is: over HTTPS, or from this machine, as through `kubectl
port-forward`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from paddock.console import security
from paddock.console.addresses import KEPT
from paddock.console.answers import with_retry_after
from paddock.console.backend import Backend, KeptReader
from paddock.console.sent_files import send_file
from paddock.console.sign_in_limit import SignInLimit, TooManySignIns
from paddock.console.token_sign_in import LONGEST_TOKEN, find_peer, is_private
from paddock.history.answers import MOST_LOGS, MOST_RUNS, Logs, Refusal, Runs
from paddock.kube.errors import ApiError, Forbidden, Unauthorized
from paddock.words.phrases import phrase

MOST_AT_ONCE = 16
"""Requests that are looked at, or whose answers are built, at once; others wait. Who only reads a log that is sent
holds none of these places."""
_HEADERS = {**security.HEADERS, "Cache-Control": "no-store"}
NOT_KEPT = phrase("this console keeps nothing of its cluster: it was started without --keep")
_Answer = Callable[[web.Request, KeptReader], Awaitable[web.StreamResponse]]


class _Refused(Exception):
    def __init__(self, status: int, reason: str, message: str, seconds: int = 0) -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.seconds = status, reason, message, seconds


class KeptAnswers:
    """`limit`: how many tokens that the cluster does not take are tried."""

    def __init__(self, backend: Backend, *, behind_tls: bool = False, limit: SignInLimit | None = None) -> None:
        self._backend, self._behind_tls, self._limit = backend, behind_tls, limit or SignInLimit()
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)

    def add_routes(self, router: web.UrlDispatcher) -> None:
        where = KEPT + "namespaces/{namespace}/"
        router.add_get(where + "runs", self._answering(self._list_runs))
        router.add_get(where + "logs", self._answering(self._list_logs))
        router.add_get(where + "logs/{directory}/{container}/{file}", self._answering(self._send_log))

    def _answering(self, answer: _Answer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def respond(request: web.Request) -> web.StreamResponse:
            try:
                async with self._turn:
                    reader = await self._enter(request)
                return await answer(request, reader)
            except _Refused as error:
                return _refuse(error)
            except Forbidden as error:
                return _refuse(_Refused(403, "Forbidden", error.message))
            except ApiError as error:
                return _refuse(_Refused(503, "Unavailable", error.message))

        return respond

    async def _enter(self, request: web.Request) -> KeptReader:
        """Raises `_Refused` before the API is asked for what is no token."""
        if self._backend.kept is None:
            raise _Refused(404, "NotKept", str(NOT_KEPT))
        if not is_private(request, behind_tls=self._behind_tls):
            raise _Refused(403, "NotPrivate", "a token is taken over HTTPS, or through a forwarded port, alone")
        word, _, token = request.headers.get("Authorization", "").partition(" ")
        if word.lower() != "bearer" or not token or len(token) > LONGEST_TOKEN:
            raise _Refused(401, "Unauthorized", "no token: each request has `Authorization: Bearer TOKEN`")
        if (known := self._backend.kept.find(token)) is not None:
            return known
        peer = find_peer(request, behind_tls=self._behind_tls)
        try:
            self._limit.take(peer)
            reader = await self._backend.kept.enter(token)
        except TooManySignIns as error:
            raise _Refused(429, "TooManyRequests", str(error.said), error.seconds) from None
        except Unauthorized:
            raise _Refused(401, "Unauthorized", "the cluster does not take this token") from None
        self._limit.give_back(peer)
        return reader

    async def _list_runs(self, request: web.Request, reader: KeptReader) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.query.get("name", "")
        async with self._turn:
            runs, older = await reader.list_runs(namespace, name, MOST_RUNS)
        troubles = tuple(map(str, self._backend.list_troubles() if self._backend.list_troubles else ()))
        return await _send(Runs(runs=tuple(runs), older=older, troubles=troubles))

    async def _list_logs(self, request: web.Request, reader: KeptReader) -> web.StreamResponse:
        namespace, query = request.match_info["namespace"], request.query
        async with self._turn:
            logs, more = await reader.list_logs(namespace, query.get("name", ""), query.get("uid", ""), MOST_LOGS)
        return await _send(Logs(logs=tuple(logs), more=more))

    async def _send_log(self, request: web.Request, reader: KeptReader) -> web.StreamResponse:
        part = request.match_info
        async with self._turn:
            opened = await reader.open(part["namespace"], part["directory"], f"{part['container']}/{part['file']}")
        if opened is None:
            raise _Refused(404, "NotFound", "this log is not kept")
        try:
            return await send_file(request, opened, {**_HEADERS, "Content-Type": "application/octet-stream"})
        finally:
            os.close(opened)


async def _send(built: Runs | Logs) -> web.Response:
    """Encoded in a thread: a thousand records may be of megabytes."""
    body = await asyncio.to_thread(msgspec.json.encode, built)
    return web.Response(body=body, content_type="application/json", headers=_HEADERS)


def _refuse(error: _Refused) -> web.Response:
    body = msgspec.json.encode(Refusal(reason=error.reason, message=error.message))
    answer = web.Response(body=body, status=error.status, content_type="application/json", headers=_HEADERS)
    return with_retry_after(answer, error.seconds) if error.seconds else answer
