"""Events are kept for an hour after they last happened, as in Kubernetes (kube-apiserver's --event-ttl); a sweep takes
the older ones away.

Kubernetes leases them in etcd; here `Expiry` looks over them when the oldest is due. The rule a reader must not break:
no event, no timer, so that an idle cluster sleeps. What else goes by itself is in `collector`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from paddock.apiserver.records import Change, Stored, storage_key
from paddock.apiserver.store import Store, Transaction
from paddock.kube.errors import ApiError
from paddock.kube.meta import EVENTS, metadata
from paddock.kube.times import Moment, read_time

log = logging.getLogger(__name__)

LIFETIME = 3_600.0
"""Seconds."""
SLICE = 200
_PAUSE = 60.0
"""The least number of seconds between two sweeps: events that come one by one go together."""
_EVENTS = storage_key(EVENTS)


def read_last_seen(event: Mapping[str, Any], now: Moment) -> Moment:
    """When an event last happened. Its own times are the client's, so those that are to come, or no times, are passed
    over; the server's creationTimestamp always counts."""
    series = event.get("series")
    last = series.get("lastObservedTime") if isinstance(series, Mapping) else None
    texts = (metadata(event).get("creationTimestamp"), event.get("lastTimestamp"), event.get("eventTime"), last)
    found = [moment for text in texts if (moment := read_time(text)) is not None and moment <= now]
    return max(found, default=now)


class Expiry:
    def __init__(self, store: Store, clock: Callable[[], float], *, slice: int = SLICE) -> None:
        self._store = store
        self._clock = clock
        self._slice = slice
        self._wake = asyncio.Event()
        store.listen(self._notice)

    def _notice(self, changes: list[Change]) -> None:
        if any(change.resource == _EVENTS and change.type == "ADDED" for change in changes):
            self._wake.set()

    async def run(self) -> None:
        """Until cancelled. What failed is tried again at the next sweep: the disk may be full for a while."""
        while True:
            self._wake.clear()
            try:
                due = await self.sweep()
            except ApiError as error:
                log.warning("old events were not taken away yet: %s", error.message)
                due = 0.0
            if due is None:
                await self._wake.wait()
                due = LIFETIME
            await asyncio.sleep(max(_PAUSE, due))

    async def sweep(self) -> float | None:
        """Takes away the events that are due, a slice at a time so that nobody waits for it. The seconds until the
        next one is due; None when there are no events."""
        oldest: Moment | None = None
        after: tuple[str, str] | None = None
        while True:
            now, expired = self._clock(), []
            page = self._page(after)
            for stored in page:
                seen = read_last_seen(stored.manifest(), now)
                if seen + LIFETIME <= now:
                    expired.append(stored)
                elif oldest is None or seen < oldest:
                    oldest = seen
            if expired:
                await self._store.write(lambda tx, expired=expired: _remove(tx, expired))  # type: ignore[misc]
            if len(page) < self._slice:
                return None if oldest is None else oldest + LIFETIME - now
            after = (page[-1].namespace, page[-1].name)
            await asyncio.sleep(0)

    def _page(self, after: tuple[str, str] | None) -> list[Stored]:
        return list(islice(self._store.select(_EVENTS, after=after), self._slice))


def _remove(tx: Transaction, events: list[Stored]) -> None:
    """Those that are still as they were: one that has happened again meanwhile stays."""
    for stored in events:
        live = tx.get(*stored[:3])
        if live is not None and live.rv == stored.rv:
            tx.delete(live)
