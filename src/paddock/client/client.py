"""A client of any Kubernetes API over HTTPS: implements `paddock.kube.api.PodApi`.

A call becomes a `Request` (`client.requests`, pure), which `client.connection` sends. `follow` drives the pure `Ledger`
and `Progress` of `client.watch` with a connection that may break.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from paddock.client.connection import Connection
from paddock.client.credentials import Credentials
from paddock.client.kubeconfig import Config
from paddock.client.pool import AnswerTooLong
from paddock.client.requests import (
    PAGE,
    Page,
    Request,
    build,
    build_log,
    build_page,
    build_watch,
    choose_limit,
    read_object,
    read_page,
    reduce_limit,
)
from paddock.kube.api import Event, PodApi
from paddock.kube.calls import Call, Delete, List, Listing, T
from paddock.kube.errors import ApiError, Expired
from paddock.kube.meta import Manifest, Resource

if TYPE_CHECKING:
    import aiohttp

    from paddock.client.watches import Watch, Watches

WATCH_SECONDS = 480
"""A watch ends after this and resumes at its last version; client-go: 300 to 600."""
SILENCE_SECONDS = 150.0
"""A watch that has sent nothing for so long is taken for dead, and resumes on another connection: where one of several
API servers dies, nothing may tell the client. A server sends a bookmark a minute; with one that sends none, a quiet
watch resumes as often, which costs one request."""

_NO_QUERY: Mapping[str, str] = {}


class Client(PodApi):
    """`async with Client(read_config()) as api: …`. Raises `ApiError`s only; `timeout` in seconds for a request.

    `watches` is told of each watch, `on_date` of the Date of every answer. `silence`: seconds without a byte after
    which a watch is begun again.
    `relist`: a watch that ends this many seconds after the last list is followed by a new list. It recovers events that
    a proxy or a faulty server has lost: without it, a job whose last event was lost would wait for ever.
    `credentials`: shared with other clients, as a credential plug-in need run once for all of them.
    `watch_seconds`: after which a watch is asked for anew: a server looks at rights when a watch begins, and not again.
    `endures`: whether a follower goes on when the server refuses what it has granted before (`watch.plan_start`)."""

    def __init__(
        self,
        config: Config,
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        watches: Watches | None = None,
        silence: float = SILENCE_SECONDS,
        relist: float = 3600.0,
        on_date: Callable[[str | None], None] = lambda _: None,
        credentials: Credentials | None = None,
        watch_seconds: int = WATCH_SECONDS,
        endures: bool = True,
    ) -> None:
        self.config = config
        self._relist = relist
        self._watch_seconds, self._endures = watch_seconds, endures
        self._watches = watches
        self._silence = silence
        self._connection = Connection(config, timeout=timeout, sleep=sleep, on_date=on_date, credentials=credentials)
        self._sleep = sleep

    async def __aenter__(self) -> Client:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    @property
    def silent_since(self) -> float | None:
        """Since when (seconds since the epoch) the server has not answered; None while it does. Something has to be
        asked for it to be known: a follower asks again within `client.watch.LONGEST_DELAY`."""
        return self._connection.silent_since

    async def probe(self, seconds: float) -> None:
        """Whether the server still answers, for who follows it and would wait for minutes to know: see
        `Connection.probe`; `silent_since` says it then."""
        await self._connection.probe(seconds)

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, List):
            return cast("T", await self._list(call))
        body = await self._connection.send(build(call))
        return cast("T", None if isinstance(call, Delete) else read_object(call.resource, body))

    async def _list(self, call: List) -> Listing:
        return Listing(*await _fetch_all(self._connection, call))

    async def fetch(self, path: str, query: Mapping[str, str] = _NO_QUERY, *, accept: str = "application/json") -> Any:
        body = await self._connection.send(Request("GET", path, query, {"Accept": accept}))
        return msgspec.json.decode(body)

    async def open_socket(
        self, path: str, query: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> aiohttp.ClientWebSocketResponse:
        """See `Connection.upgrade`; `client.pod_streams` asks for it."""
        return await self._connection.upgrade(path, query, protocols)

    async def stream_log(
        self,
        namespace: str,
        pod: str,
        *,
        container: str = "",
        follow: bool = False,
        tail: int | None = None,
        since: float | None = None,
        since_time: str = "",
        timestamps: bool = False,
        previous: bool = False,
        leave_out: Callable[[int], None] = lambda _: None,
    ) -> AsyncGenerator[bytes, None]:
        request = build_log(
            namespace,
            pod,
            container=container,
            follow=follow,
            tail=tail,
            since=since,
            since_time=since_time,
            timestamps=timestamps,
            previous=previous,
        )
        async for chunk in self._connection.stream(request):
            yield chunk

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        from paddock.client.watches import Watches  # late, as what follows a watch: most commands list

        watches = self._watches or Watches()
        watch = watches.add(resource, namespace)
        selected = List(resource, namespace, labels=labels, fields=fields)
        try:
            async with aclosing(self._follow(selected, watches, watch)) as events:
                async for event in events:
                    yield event
        finally:
            watches.remove(watch)

    async def _follow(self, selected: List, watches: Watches, watch: Watch) -> AsyncGenerator[Event, None]:
        from paddock.client.watch import Ledger, Progress

        ledger, progress = Ledger(selected.resource), Progress(self._relist, endures=self._endures)
        hear = partial(watches.hear, watch)
        while True:
            ended: ApiError | None = None
            progress.begin(time.monotonic())
            try:
                if not progress.cursor.version:
                    version = ""
                    async for page in _fetch_pages(self._connection, selected):
                        hear()
                        if page.first:  # perhaps once more, after an expired token
                            ledger.begin_list()
                        for event in ledger.take_page(page.items):
                            yield event
                        version = page.resource_version
                    for event in ledger.end_list():
                        yield event
                    if not progress.synced:
                        yield Event("SYNCED", {})
                    progress.end_list(version, time.monotonic())
                request = build_watch(selected, progress.cursor.version, seconds=self._watch_seconds)
                async for chunk in self._connection.stream(request, read_timeout=self._silence, on_answer=hear):
                    hear()
                    for line in progress.feed(chunk):
                        if changed := ledger.change(line):
                            yield changed
            except ApiError as error:
                ended = error
            delay = progress.end(ended, time.monotonic())
            watches.end(watch, ended)
            await self._sleep(delay)


async def _fetch_all(connection: Connection, call: List) -> tuple[list[Manifest], str]:
    """All objects, or what is to be kept of them, and the resourceVersion of the list."""
    items: list[Manifest] = []
    version = ""
    async for page in _fetch_pages(connection, call):
        if page.first:
            items.clear()
        read = (read_object(call.resource, item) for item in page.items)
        items += map(call.keep, read) if call.keep else read
        version = page.resource_version
    return items, version


async def _fetch_pages(connection: Connection, call: List) -> AsyncIterator[Page]:
    """The pages of a list, all of one resourceVersion.

    Pages have fewer objects where these are large. If the continue token expires, the list starts again, in pages
    still, as all of it may not fit into memory; the second time unpaged, as in client-go's pager. There is another
    `first` page then, and the pages before it are void.
    """
    token, limit, begun = "", PAGE, 0
    while True:
        try:
            body = await connection.send(build_page(call, token=token, limit=limit))
        except AnswerTooLong:
            limit = reduce_limit(limit)
            continue
        except Expired:
            if not token:
                raise
            begun += 1
            token, limit = "", PAGE if begun == 1 else 0
            continue
        page = read_page(body, first=not token)
        limit = choose_limit(limit, len(page.items), len(body))
        yield page
        token = page.token
        if not token:
            return
