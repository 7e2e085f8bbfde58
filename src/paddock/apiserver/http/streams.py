"""Streamed responses: watches and followed logs.

A watcher that does not read is disconnected (`storage.hub`) and reconnects with its last resourceVersion. Rule: a watch
ends at its timeout even if nobody reads it. `formats` encodes the lines.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice

from aiohttp import web

from paddock.apiserver.http.formats import render_added, render_bookmark, render_error, render_event
from paddock.apiserver.http.pod_logs import LogOptions, PodLogs
from paddock.apiserver.http.requests import Format, WatchOptions
from paddock.apiserver.objects.writes import Objects
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Capacity, Selection, Subscription, WatchEvent
from paddock.apiserver.storage.records import Stored, storage_key
from paddock.kube.errors import Expired
from paddock.kube.meta import Manifest

CAPACITY = Capacity(16_384, 16 * 1024 * 1024)
"""How far a watcher may fall behind before it is disconnected. Changes are shared, so many small ones cost little."""
BOOKMARK_SECONDS = 60.0  # as in kube-apiserver
# The default of kube-apiserver's --min-request-timeout.
MAX_WATCH_SECONDS = 1_800
_FLUSH_SECONDS = 1.0
"""How long the last lines may take once a watch has ended; then the connection is aborted."""
_LINES_PER_CHUNK = 500
_FIRST_CHUNK_SECONDS = 0.25


class Watch:
    """One watch request (GET …?watch=true)."""

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
        # No await may stand between here and `_first_lines`: a change in between would be missed or sent twice.
        subscription = self._objects.hub.subscribe(key, self._selection, CAPACITY)
        loop = asyncio.get_running_loop()
        end = loop.time() + min(self._options.timeout or MAX_WATCH_SECONDS, MAX_WATCH_SECONDS)
        try:
            first, expired = self._first_lines(key)
            response = web.StreamResponse(
                headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
            )
            response.enable_chunked_encoding()
            # A write waits for a client that does not read, and an open request keeps the cluster from sleeping.
            async with asyncio.timeout_at(end + _FLUSH_SECONDS) as limit:
                subscription.on_close = partial(_shorten_deadline, limit)
                await response.prepare(request)
                while chunk := b"".join(islice(first, _LINES_PER_CHUNK)):
                    await response.write(chunk)
                if not expired:
                    await self._stream_changes(response, subscription, end)
                await response.write_eof()
        except ConnectionError:
            pass  # the client has disconnected
        except TimeoutError:
            # The client stopped reading long ago: a clean end of the stream would not reach it.
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._objects.hub.leave(key, subscription)
        return response

    def _first_lines(self, key: str) -> tuple[Iterator[bytes], bool]:
        """The first lines, and whether the watch has expired and ends after them."""
        options, clock = self._options, self._objects.clock
        revision = self._objects.store.revision
        if options.initial_events:
            items = self._objects.page(self._served, self._selection).items
            return self._current_objects(items, revision), False
        if options.revision == 0:
            return iter(()), False
        try:
            changes = self._objects.store.changes_since(key, options.revision)
        except Expired as error:
            # Kubernetes answers 200 with one ERROR event here, and not with status 410.
            return iter([render_error(error)]), True
        typed = ((self._selection.event_type(change), change) for change in changes)
        events = [WatchEvent(type, change) for type, change in typed if type is not None]
        return (render_event(self._served, event, self._format, clock()) for event in events), False

    def _current_objects(self, items: list[Stored], revision: int) -> Iterator[bytes]:
        for stored in items:
            yield render_added(self._served, stored, self._format, self._objects.clock())
        if self._options.initial_events_end:
            yield render_bookmark(self._served, revision, self._format, initial_events_end=True)

    async def _stream_changes(self, response: web.StreamResponse, subscription: Subscription, end: float) -> None:
        loop = asyncio.get_running_loop()
        while (left := end - loop.time()) > 0:
            events = await subscription.read(min(left, BOOKMARK_SECONDS))
            now = self._objects.clock()
            if events:
                lines = (render_event(self._served, event, self._format, now) for event in events)
                await response.write(b"".join(lines))
            elif subscription.lost:
                return
            elif self._options.bookmarks:
                # Nothing is pending in this turn of the loop, so the watcher has received all changes.
                await response.write(render_bookmark(self._served, self._objects.store.revision, self._format))


def _shorten_deadline(limit: asyncio.Timeout) -> None:
    """The server has ended the watch: a client that still reads gets its last lines, the others are aborted."""
    if not limit.expired():
        limit.reschedule(min(limit.when() or math.inf, asyncio.get_running_loop().time() + _FLUSH_SECONDS))


async def serve_log(request: web.Request, logs: PodLogs, pod: Manifest, options: LogOptions) -> web.StreamResponse:
    """A container's log as text/plain. An error before the first byte becomes a Status."""
    chunks = logs.read(pod, options)
    first = asyncio.ensure_future(anext(chunks, b""))
    try:
        # A followed log may be silent for long: the client gets its headers without waiting for the first line.
        await asyncio.wait({first}, timeout=_FIRST_CHUNK_SECONDS)
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
        pass  # the client has disconnected
    finally:
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await _close(chunks)
    return response


async def _close(chunks: AsyncIterator[bytes]) -> None:
    # An abandoned generator would keep its log file open until Python collects it.
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
