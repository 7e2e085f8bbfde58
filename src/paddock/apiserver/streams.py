"""Answers that go on: watches and followed logs.

A watch begins in one turn of the loop with what is there, or with the changelog, and is subscribed in that same turn,
so no change is missed or told twice. A watcher that does not read is cut (`watches`); it comes back with its last
resourceVersion. The rule a reader must not break: a watch ends at its time also when nobody reads it, as an open
request keeps the cluster from sleeping. What a line looks like is in `formats`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice

from aiohttp import web

from paddock.apiserver.formats import render_added, render_bookmark, render_error, render_seen
from paddock.apiserver.objects import Objects
from paddock.apiserver.pod_logs import LogOptions, PodLogs
from paddock.apiserver.records import Stored, storage_key
from paddock.apiserver.requests import Format, WatchOptions
from paddock.apiserver.served import ServedResource
from paddock.apiserver.watches import Capacity, Seen, Selection, Subscription
from paddock.kube.errors import Expired
from paddock.kube.meta import Manifest

CAPACITY = Capacity(16_384, 16 * 1024 * 1024)
"""How far a watcher may be behind before it is cut. Changes are shared, so many small ones cost little."""
BOOKMARK_EVERY = 60.0
WATCH_LIMIT = 1_800
_PATIENCE = 1.0
"""Seconds that the last lines may take once a watch has ended; then the connection is ended."""
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
        loop = asyncio.get_running_loop()
        end = loop.time() + min(self._options.timeout or WATCH_LIMIT, WATCH_LIMIT)
        try:
            first, expired = self._begin(key)
            response = web.StreamResponse(
                headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
            )
            response.enable_chunked_encoding()
            async with asyncio.timeout_at(end + _PATIENCE) as limit:
                subscription.on_close = partial(_hurry, limit)
                await response.prepare(request)
                while chunk := b"".join(islice(first, _CHUNK)):
                    await response.write(chunk)
                if not expired:
                    await self._go_on(response, subscription, end)
                await response.write_eof()
        except ConnectionError:
            pass  # the watcher has left
        except TimeoutError:
            # It has long stopped to read, so no proper end would reach it.
            if request.transport is not None:
                request.transport.abort()
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

    async def _go_on(self, response: web.StreamResponse, subscription: Subscription, end: float) -> None:
        loop = asyncio.get_running_loop()
        while (left := end - loop.time()) > 0:
            seen = await subscription.read(min(left, BOOKMARK_EVERY))
            now = self._objects.clock()
            if seen:
                await response.write(b"".join(render_seen(self._served, one, self._format, now) for one in seen))
            elif subscription.lost:
                return
            elif self._options.bookmarks:
                # Nothing is pending in this turn, so the watcher has all there is.
                await response.write(render_bookmark(self._served, self._objects.store.revision, self._format))


def _hurry(limit: asyncio.Timeout) -> None:
    """The watch has ended from our side: a watcher that reads on gets its last lines, any other is not waited for."""
    if not limit.expired():
        limit.reschedule(min(limit.when() or math.inf, asyncio.get_running_loop().time() + _PATIENCE))


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
