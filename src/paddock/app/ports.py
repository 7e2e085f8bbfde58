"""The TCP ports that this machine listens on, from Linux's /proc/net: no job is given one of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

# Linux writes a socket's state as a hexadecimal number; 10 is TCP_LISTEN.
_LISTEN = "0A"
_CACHE_SECONDS = 1.0
"""Seconds for which one reading is used: many jobs are submitted at once."""


def read_listening(table: str) -> frozenset[int]:
    """The listening ports in the text of /proc/net/tcp or tcp6. Pure."""
    rows = (line.split() for line in table.splitlines()[1:])
    return frozenset(int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == _LISTEN)


def fetch_listening() -> frozenset[int]:
    """All listening ports of this machine; empty where there is no /proc/net."""
    found: frozenset[int] = frozenset()
    for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            found |= read_listening(path.read_text())
        except OSError:
            continue
    return found


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
