"""Answers that go on: watches and followed logs.

A watch begins in one turn of the loop with what is there, or with the changelog, and is subscribed in that same turn,
so no change is missed or told twice. A watcher that does not read is cut (`watches`); it comes back with its last
resourceVersion. What a line looks like is in `formats`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice

from aiohttp import web

from paddock.apiserver.formats import render_added, render_bookmark, render_error, render_seen
from paddock.apiserver.objects import Objects
from paddock.apiserver.pod_logs import LogOptions, PodLogs
from paddock.apiserver.records import Stored, storage_key
from paddock.apiserver.requests import Format, WatchOptions
from paddock.apiserver.served import ServedResource
from paddock.apiserver.watches import Seen, Selection, Subscription
from paddock.kube.errors import Expired
from paddock.kube.meta import Manifest

CAPACITY = 16_384
"""Changes that a watcher may be behind before it is cut. They are shared, so they cost little."""
BOOKMARK_EVERY = 60.0
WATCH_LIMIT = 1_800
_CHUNK = 500
_FIRST_WORD = 0.25


class Watch:
    """One GET …?watch=true."""

    def __init__(
        self, objects: Objects, served: ServedResource, selection: Selection, options: WatchOptions, wanted: Format
    ) -> None:
        self._objects = objects
        self._served = served
        self._selection = selection
        self._options = options
        self._format = wanted

    async def serve(self, request: web.Request) -> web.StreamResponse:
        key = storage_key(self._served.resource)
        subscription = self._objects.hub.subscribe(key, self._selection, CAPACITY)
        try:
            first, expired = self._begin(key)
            response = web.StreamResponse(
                headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
            )
            response.enable_chunked_encoding()
            await response.prepare(request)
            while chunk := b"".join(islice(first, _CHUNK)):
                await response.write(chunk)
            if not expired:
                await self._go_on(response, subscription)
            await response.write_eof()
        except ConnectionError:
            pass  # the watcher has left
        finally:
            self._objects.hub.leave(key, subscription)
        return response

    def _begin(self, key: str) -> tuple[Iterator[bytes], bool]:
        """The first lines, and whether they are also the last."""
        options, clock = self._options, self._objects.clock
        revision = self._objects.store.revision
        if options.initial_events:
            items = self._objects.page(self._served, self._selection).items
            return self._present(items, revision), False
        if options.revision == 0:
            return iter(()), False
        try:
            changes = self._objects.store.changes_since(key, options.revision)
        except Expired as error:
            return iter([render_error(error)]), True
        judged = ((self._selection.judge(change), change) for change in changes)
        seen = [Seen(type, change) for type, change in judged if type is not None]
        return (render_seen(self._served, one, self._format, clock()) for one in seen), False

    def _present(self, items: list[Stored], revision: int) -> Iterator[bytes]:
        for stored in items:
            yield render_added(self._served, stored, self._format, self._objects.clock())
        if self._options.initial_events_end:
            yield render_bookmark(self._served, revision, self._format, initial_events_end=True)

    async def _go_on(self, response: web.StreamResponse, subscription: Subscription) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + min(self._options.timeout or WATCH_LIMIT, WATCH_LIMIT)
        while not subscription.lost and (left := end - loop.time()) > 0:
            seen = await subscription.read(min(left, BOOKMARK_EVERY))
            now = self._objects.clock()
            if seen:
                await response.write(b"".join(render_seen(self._served, one, self._format, now) for one in seen))
            elif self._options.bookmarks and not subscription.lost:
                # Nothing is pending in this turn, so the watcher has all there is.
                await response.write(render_bookmark(self._served, self._objects.store.revision, self._format))


async def serve_log(request: web.Request, logs: PodLogs, pod: Manifest, options: LogOptions) -> web.StreamResponse:
    """A container's log as text/plain. An error before the first byte is answered as a Status."""
    chunks = logs.read(pod, options)
    first = asyncio.ensure_future(anext(chunks, b""))
    try:
        # A followed log may say nothing for long; its reader shall know soon that it was found.
        await asyncio.wait({first}, timeout=_FIRST_WORD)
        if first.done():
            first.result()
        response = web.StreamResponse(headers={"Content-Type": "text/plain", "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        if chunk := await first:
            await response.write(chunk)
            async for chunk in chunks:
                await response.write(chunk)
        await response.write_eof()
    except ConnectionError:
        pass  # the reader has left
    finally:
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await _close(chunks)
    return response


async def _close(chunks: AsyncIterator[bytes]) -> None:
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
