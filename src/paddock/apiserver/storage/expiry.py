"""Deletes Events one hour after they last occurred, as Kubernetes does (kube-apiserver's --event-ttl).

Kubernetes uses etcd leases; here `Expiry` sweeps when the oldest Event is due. Rule: without Events there is no timer,
so that an idle cluster sleeps. Garbage collection of other objects is in `objects.garbage`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from paddock.apiserver.storage.records import Change, Stored, storage_key
from paddock.apiserver.storage.store import Store
from paddock.apiserver.storage.transaction import Transaction
from paddock.kube.errors import ApiError
from paddock.kube.meta import EVENTS, metadata
from paddock.kube.times import Moment, read_time

log = logging.getLogger(__name__)

EVENT_TTL = 3_600.0
"""Seconds."""
BATCH = 200
_MIN_INTERVAL = 60.0
"""Minimum seconds between two sweeps: Events that arrive one by one are deleted together."""
_EVENTS = storage_key(EVENTS)


def read_last_seen(event: Mapping[str, Any], now: Moment) -> Moment:
    """When an event last occurred. Its own times come from the client: future or invalid ones are ignored. The server's
    creationTimestamp always counts."""
    series = event.get("series")
    last = series.get("lastObservedTime") if isinstance(series, Mapping) else None
    texts = (metadata(event).get("creationTimestamp"), event.get("lastTimestamp"), event.get("eventTime"), last)
    found = [moment for text in texts if (moment := read_time(text)) is not None and moment <= now]
    return max(found, default=now)


class Expiry:
    def __init__(self, store: Store, clock: Callable[[], float], *, batch: int = BATCH) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self._wake = asyncio.Event()
        store.listen(self._on_changes)

    def _on_changes(self, changes: list[Change]) -> None:
        if any(change.resource == _EVENTS and change.type == "ADDED" for change in changes):
            self._wake.set()

    async def run(self) -> None:
        """Sweeps until cancelled. A failed sweep, for example on a full disk, is retried after the minimum interval."""
        while True:
            self._wake.clear()
            try:
                due = await self.sweep()
            except ApiError as error:
                log.warning("old events were not taken away yet: %s", error.message)
                due = 0.0
            if due is None:
                await self._wake.wait()
                # There were no Events before, and a new one lives at least this long.
                due = EVENT_TTL
            await asyncio.sleep(max(_MIN_INTERVAL, due))

    async def sweep(self) -> float | None:
        """Deletes the events that are due, one batch at a time. Returns the seconds until the next one is due; None if
        there are no events."""
        oldest: Moment | None = None
        after: tuple[str, str] | None = None
        while True:
            now, expired = self._clock(), []
            page = self._page(after)
            for stored in page:
                seen = read_last_seen(stored.manifest(), now)
                if seen + EVENT_TTL <= now:
                    expired.append(stored)
                elif oldest is None or seen < oldest:
                    oldest = seen
            if expired:
                await self._store.write(partial(_remove, events=expired), frees=True)
            if len(page) < self._batch:
                return None if oldest is None else oldest + EVENT_TTL - now
            after = (page[-1].namespace, page[-1].name)
            # Pending requests run between two batches, so no request waits for the whole sweep.
            await asyncio.sleep(0)

    def _page(self, after: tuple[str, str] | None) -> list[Stored]:
        return list(islice(self._store.select(_EVENTS, after=after), self._batch))


def _remove(tx: Transaction, events: list[Stored]) -> None:
    """Deletes the events that are unchanged; one that occurred again meanwhile stays."""
    for stored in events:
        live = tx.get(*stored[:3])
        if live is not None and live.rv == stored.rv:
            tx.delete(live)
