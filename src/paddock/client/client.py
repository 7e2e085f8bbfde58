"""Any Kubernetes API over HTTPS: `paddock.kube.api.Api`, answered by a server somewhere.

Every method builds a `Request` (`client.requests`, pure), sends it (`client.connection`) and reads the answer. `follow`
joins the pure cursor and ledger of `client.watch` to a connection that may break.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from paddock.client import requests
from paddock.client.connection import Connection
from paddock.client.kubeconfig import Config
from paddock.client.requests import PAGE, Page, Request, read_object, read_page
from paddock.client.watch import Cursor, Ledger, count_failures, plan_delay, plan_start
from paddock.kube.api import Api, Event, Listing, PatchKind
from paddock.kube.errors import ApiError, Expired
from paddock.kube.meta import Manifest, Resource

_WATCH_SECONDS = 480
"""A watch ends after this and is begun again where it stood; client-go takes 300 to 600."""

_NO_QUERY: Mapping[str, str] = {}


class Client(Api):
    """`async with Client(read_config()) as api: …`. Raises `ApiError`s only; `timeout` in seconds for a request.

    `on_watch_end` hears of every watch that ended, for whatever reason, and is begun again. `relist`: so many seconds
    after its last list, a follower lists anew at the end of a watch: an event that was lost on the way, by a proxy or
    a server's mistake, is lost no longer than that. Without it a job whose last event is lost would wait for ever."""

    def __init__(
        self,
        config: Config,
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_watch_end: Callable[[Resource], None] = lambda _: None,
        relist: float = 3600.0,
    ) -> None:
        self.config = config
        self._relist = relist
        self._on_watch_end = on_watch_end
        self._connection = Connection(config, timeout=timeout, sleep=sleep)
        self._sleep = sleep

    async def __aenter__(self) -> Client:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        return await self._object(resource, requests.build_get(resource, namespace, name))

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        items, version = await _fetch_all(self._connection, resource, namespace, labels, fields)
        return Listing([read_object(resource, item) for item in items], version)

    async def create(
        self,
        resource: Resource,
        manifest: Mapping[str, Any],
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        strict: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        request = requests.build_create(
            resource, manifest, namespace=namespace, name=name, subresource=subresource, strict=strict, dry_run=dry_run
        )
        return await self._object(resource, request)

    async def replace(
        self, resource: Resource, manifest: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Manifest:
        request = requests.build_replace(resource, manifest, namespace=namespace, subresource=subresource)
        return await self._object(resource, request)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        kind: PatchKind = "merge",
    ) -> Manifest:
        request = requests.build_patch(resource, namespace, name, patch, subresource=subresource, kind=kind)
        return await self._object(resource, request)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] = "Background",
    ) -> None:
        request = requests.build_delete(resource, namespace, name, uid=uid, grace=grace, propagation=propagation)
        await self._connection.send(request)

    async def fetch(self, path: str, query: Mapping[str, str] = _NO_QUERY, *, accept: str = "application/json") -> Any:
        """Any JSON document of the server: `/version`, a discovery document, a list as a Table."""
        body = await self._connection.send(Request("GET", path, query, {"Accept": accept}))
        return msgspec.json.decode(body)

    async def stream_log(
        self,
        namespace: str,
        pod: str,
        *,
        container: str = "",
        follow: bool = False,
        tail: int | None = None,
        since: float | None = None,
        timestamps: bool = False,
        previous: bool = False,
    ) -> AsyncIterator[bytes]:
        """Chunks of a container's log, as they come; with `follow`, until it has ended. `since` in seconds."""
        request = requests.build_log(
            namespace,
            pod,
            container=container,
            follow=follow,
            tail=tail,
            since=since,
            timestamps=timestamps,
            previous=previous,
        )
        async for chunk in self._connection.stream(request):
            yield chunk

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        ledger, cursor = Ledger(resource), Cursor("")
        synced, proven, failures = False, False, 0  # proven: a watch has worked once
        listed = time.monotonic()
        while True:
            ended: ApiError | None = None
            begun, start = time.monotonic(), cursor.version
            try:
                if not cursor.version:
                    version = ""
                    async for page in _fetch_pages(self._connection, resource, namespace, labels, fields):
                        if page.first:
                            ledger.begin_list()
                        for event in ledger.take_page(page.items):
                            yield event
                        version = page.resource_version
                    for event in ledger.end_list():
                        yield event
                    if not synced:
                        yield Event("SYNCED", {})
                    synced, cursor, listed = True, Cursor(version), time.monotonic()
                    begun, start = listed, version
                request = requests.build_watch(
                    resource, namespace, cursor.version, labels=labels, fields=fields, seconds=_WATCH_SECONDS
                )
                async for chunk in self._connection.stream(request, quiet=_WATCH_SECONDS + 30.0):
                    proven = True
                    for line in cursor.feed(chunk):
                        if told := ledger.change(line):
                            yield told
                proven = True
            except ApiError as error:
                ended = error
            stood = plan_start(ended, cursor.version, proven=proven)
            if ended is not None and stood is None:
                raise ended
            now = time.monotonic()
            failures = count_failures(failures, now - begun, moved=cursor.version != start)
            # Half a line is of no use after the end, so the cursor is a new one.
            cursor = Cursor("" if now - listed > self._relist else stood or "")
            self._on_watch_end(resource)
            await self._sleep(plan_delay(failures))

    async def _object(self, resource: Resource, request: Request) -> Manifest:
        return read_object(resource, await self._connection.send(request))


async def _fetch_all(
    connection: Connection, resource: Resource, namespace: str, labels: str, fields: str
) -> tuple[list[bytes], str]:
    """All objects as JSON, and the version they are true at."""
    items: list[bytes] = []
    version = ""
    async for page in _fetch_pages(connection, resource, namespace, labels, fields):
        items = page.items if page.first else items + page.items
        version = page.resource_version
    return items, version


async def _fetch_pages(
    connection: Connection, resource: Resource, namespace: str, labels: str, fields: str
) -> AsyncIterator[Page]:
    """A list in its pages, all true at one version.

    A token that grew too old on the way means: begin anew, and in one piece (as client-go's pager does). Then there is
    another `first` page, and what came before it counts no more.
    """
    token, limit = "", PAGE
    while True:
        request = requests.build_list(resource, namespace, labels=labels, fields=fields, token=token, limit=limit)
        try:
            page = read_page(await connection.send(request), first=not token)
        except Expired:
            if not token:
                raise
            token, limit = "", 0
            continue
        yield page
        token = page.token
        if not token:
            return
