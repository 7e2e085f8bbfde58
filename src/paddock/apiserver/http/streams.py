"""Streamed responses: watches, long lists and followed logs.

A watcher that does not read is disconnected (`storage.hub`) and reconnects with its last resourceVersion. Rule: a watch
ends at its timeout even if nobody reads it. `formats` encodes the lines.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial

from aiohttp import web

from paddock.apiserver.http.formats import (
    render_added,
    render_bookmark,
    render_error,
    render_event,
    render_head,
    render_items,
    render_tail,
)
from paddock.apiserver.http.pod_logs import LogOptions, PodLogs
from paddock.apiserver.http.requests import Format, WatchOptions
from paddock.apiserver.http.room import Room
from paddock.apiserver.objects.pages import Piece
from paddock.apiserver.objects.reads import PIECE_BYTES, PIECE_OBJECTS
from paddock.apiserver.objects.writes import Objects
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Capacity, Selection, Subscription, WatchEvent
from paddock.apiserver.storage.records import Change, Stored, storage_key
from paddock.apiserver.storage.transaction import MOST_BYTES
from paddock.kube.errors import Expired, TooManyRequests
from paddock.kube.meta import Manifest

CAPACITY = Capacity(16_384, 16 * 1024 * 1024)
"""How far a watcher may fall behind before it is disconnected. Changes are shared, so many small ones cost little."""
BOOKMARK_SECONDS = 60.0  # as in kube-apiserver
# The default of kube-apiserver's --min-request-timeout.
MAX_WATCH_SECONDS = 1_800
_FLUSH_SECONDS = 1.0
"""How long the last lines may take once a watch has ended; then the connection is aborted."""
FREE_BYTES = 256 * 1024
"""Of a list: so much is read for each client at once. A longer one waits for room, and is sent in pieces."""
_PIECE_ROOM = PIECE_BYTES + MOST_BYTES
"""What a piece has at most: one object more than its limit."""
_PIECE_SECONDS = 10.0
"""How long a client may take to read a piece: it is on this machine, and others wait for the room."""
_CHUNK_BYTES = 64 * 1024
"""How much is written before the client has taken what came before."""
_FIRST_CHUNK_SECONDS = 0.25


class Watch:
    """One watch request (GET …?watch=true)."""

    def __init__(
        self, objects: Objects, served: ServedResource, selection: Selection, options: WatchOptions, wanted: Format,
        room: Room,
    ) -> None:  # fmt: skip
        self._objects = objects
        self._served = served
        self._selection = selection
        self._options = options
        self._format = wanted
        self._room = room
        self._sent = Sent()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        key = storage_key(self._served.resource)
        # What is committed from here on comes to the subscription; what was committed before is read from the store.
        subscription = self._objects.hub.subscribe(key, self._selection, CAPACITY)
        begun = self._objects.store.revision
        loop = asyncio.get_running_loop()
        end = loop.time() + min(self._options.timeout or MAX_WATCH_SECONDS, MAX_WATCH_SECONDS)
        response = _stream("application/json")
        try:
            # A write waits for a client that does not read, and an open request keeps the cluster from sleeping.
            async with asyncio.timeout_at(end + _FLUSH_SECONDS) as limit:
                subscription.on_close = partial(_shorten_deadline, limit)
                await response.prepare(request)
                try:
                    await self._send_first(response, key, begun)
                    await self._stream_changes(response, subscription, end)
                except (Expired, TooManyRequests) as error:
                    # Kubernetes answers 200 with one ERROR event here, and not with the error's status.
                    await response.write(render_error(error))
                await response.write_eof()
        except ConnectionError:
            pass  # the client has disconnected
        except TimeoutError:
            _abort(request)
        finally:
            self._objects.hub.leave(key, subscription)
        return response

    async def _send_first(self, response: web.StreamResponse, key: str, begun: int) -> None:
        """Sends what was committed up to revision `begun`: the current objects, or the changes that the client missed.
        Raises `Expired` if the changelog does not reach back so far."""
        options, clock = self._options, self._objects.clock
        if options.initial_events:
            read = partial(self._objects.pieces, self._served, self._selection)
            async with aclosing(_take_pieces(self._room, read)) as pieces:
                async for piece in pieces:
                    # The changes since `begun` come as events, also those that this piece has already.
                    self._sent.add(piece.last if piece.ending is None else None, self._objects.store.revision)
                    await _write_piece(response, self._render_added(piece.items))
            if options.initial_events_end:
                await response.write(render_bookmark(self._served, begun, self._format, initial_events_end=True))
        elif options.revision:
            after = options.revision
            while changes := _read_some(self._objects.store.changes_since(key, after, begun)):
                after = changes[-1].rv
                async with self._room.take(_weigh_changes(changes)):
                    typed = ((self._selection.event_type(change), change) for change in changes)
                    events = [WatchEvent(type, change) for type, change in typed if type is not None]
                    await _write_piece(response, (render_event(self._served, e, self._format, clock()) for e in events))

    def _render_added(self, items: Sequence[Stored]) -> Iterator[bytes]:
        for stored in items:
            yield from render_added(self._served, stored, self._format, self._objects.clock())

    async def _stream_changes(self, response: web.StreamResponse, subscription: Subscription, end: float) -> None:
        loop = asyncio.get_running_loop()
        while (left := end - loop.time()) > 0:
            events = await subscription.read(min(left, BOOKMARK_SECONDS))
            if events:
                await _write_parts(response, self._render(events))
                del events
            elif subscription.lost:
                return
            elif self._options.bookmarks:
                # Nothing is pending in this turn of the loop, so the watcher has received all changes.
                await response.write(render_bookmark(self._served, self._objects.store.revision, self._format))

    def _render(self, events: list[WatchEvent]) -> Iterator[bytes]:
        for event in events:
            if not self._sent.has(event.change):
                yield render_event(self._served, event, self._format, self._objects.clock())


class Sent:
    """What the first lines of a watch have told: of the objects up to each key, the state at a revision."""

    def __init__(self) -> None:
        self._keys: list[tuple[str, str]] = []
        self._revisions: list[int] = []

    def add(self, last: tuple[str, str] | None, revision: int) -> None:
        """The objects after the key before, up to `last`, were read at this revision; None: all others."""
        self._revisions.append(revision)
        if last is not None:
            self._keys.append(last)

    def has(self, change: Change) -> bool:
        """Whether the state that was told is this change's, or a later one."""
        place = bisect_left(self._keys, (change.namespace, change.name))
        return place < len(self._revisions) and change.rv <= self._revisions[place]


def _read_some(changes: Iterator[Change]) -> list[Change]:
    """The next changes, as many as may be in memory at once."""
    read, size = [], 0
    for change in changes:
        read.append(change)
        size += change.size
        if size >= PIECE_BYTES or len(read) >= PIECE_OBJECTS:
            break
    return read


def weigh(piece: Piece) -> int:
    """Bytes."""
    return sum(len(stored.body) for stored in piece.items)


def _weigh_changes(changes: Sequence[Change]) -> int:
    size = sum(change.size for change in changes)
    return size if size > FREE_BYTES else 0


async def _take_pieces(room: Room, read: Callable[[], Iterator[Piece]]) -> AsyncGenerator[Piece, None]:
    """The pieces of a list. Each is read when there is room for it, and when the one before has been sent; a short list
    needs no room."""
    pieces = read()
    piece = next(pieces)
    if weigh(piece) <= FREE_BYTES:
        yield piece
    else:
        del piece
        async with room.take(_PIECE_ROOM):
            # Anew, as it may have changed while there was no room.
            pieces = read()
            piece = next(pieces)
            yield piece
    while piece.ending is None:
        async with room.take(_PIECE_ROOM):
            piece = next(pieces)
            yield piece


async def serve_list(
    request: web.Request, served: ServedResource, room: Room, read: Callable[[], Iterator[Piece]], wanted: Format,
    clock: Callable[[], float],
) -> web.StreamResponse:  # fmt: skip
    """A list in pieces: each is read and encoded when the client has taken the one before. An error ends the answer in
    its middle."""
    response = _stream("application/json")
    begun = False
    try:
        async with aclosing(_take_pieces(room, read)) as pieces:
            async for piece in pieces:
                if not response.prepared:
                    await response.prepare(request)
                    await response.write(render_head(served, wanted))
                items = render_items(served, piece.items, wanted, clock())
                await _write_piece(response, _join(items, begun=begun))
                begun = begun or bool(items)
                if piece.ending is not None:
                    await response.write(render_tail(piece.ending))
        await response.write_eof()
    except ConnectionError:
        pass  # the client has disconnected
    except TimeoutError:
        _abort(request)
    return response


def _join(items: Iterable[bytes], *, begun: bool) -> Iterator[bytes]:
    """The items with commas between them; `begun`: others stand before them."""
    for item in items:
        if begun:
            yield b","
        yield item
        begun = True


async def _write_piece(response: web.StreamResponse, parts: Iterable[bytes]) -> None:
    """Writes the parts. Raises `TimeoutError` if the client takes too long to read them."""
    async with asyncio.timeout(_PIECE_SECONDS):
        await _write_parts(response, parts)
    await asyncio.sleep(0)


async def _write_parts(response: web.StreamResponse, parts: Iterable[bytes]) -> None:
    """Writes the parts in chunks; other requests have their turn after each."""
    chunk: list[bytes] = []
    size = 0
    for part in parts:
        chunk.append(part)
        size += len(part)
        if size >= _CHUNK_BYTES:
            await _write_slices(response, b"".join(chunk) if len(chunk) > 1 else part)
            chunk, size = [], 0
    if size:
        await response.write(b"".join(chunk))


async def _write_slices(response: web.StreamResponse, data: bytes) -> None:
    # A transport keeps all that is written in one go until the client has taken it.
    for begin in range(0, len(data), _CHUNK_BYTES):
        await response.write(data[begin : begin + _CHUNK_BYTES])
    await asyncio.sleep(0)


def _stream(content_type: str) -> web.StreamResponse:
    # In chunks, or to a client of HTTP/1.0, which knows none, until the connection ends.
    return web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache, private"})


def _abort(request: web.Request) -> None:
    # The client stopped reading long ago: a clean end of the stream would not reach it.
    if request.transport is not None:
        request.transport.abort()


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
        response = _stream("text/plain")
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
