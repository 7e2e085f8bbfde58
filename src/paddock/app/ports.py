"""The TCP ports that this machine listens on, from Linux's /proc/net: no job is given one of them."""

from __future__ import annotations

import time
from collections.abc import Callable

from paddock.node.streams.listeners import fetch_listeners

_CACHE_SECONDS = 1.0
"""Seconds for which one reading is used: many jobs are submitted at once."""


def fetch_listening() -> frozenset[int]:
    """All listening ports of this machine; empty where there is no /proc/net."""
    return frozenset(each.port for each in fetch_listeners())


class ListeningPorts:
    """A callable that returns the listening ports of this machine, read at most once a second."""

    def __init__(
        self, fetch: Callable[[], frozenset[int]] = fetch_listening, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch, self._clock = fetch, clock
        self._fetched_at: float | None = None
        self._ports: frozenset[int] = frozenset()

    def __call__(self) -> frozenset[int]:
        now = self._clock()
        if self._fetched_at is None or now - self._fetched_at >= _CACHE_SECONDS:
            self._fetched_at, self._ports = now, self._fetch()
        return self._ports
