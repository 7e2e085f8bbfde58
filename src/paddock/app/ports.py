"""Which TCP ports this machine listens on, so that no job is given one of them. Linux's /proc/net."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

_LISTEN = "0A"
_FRESH = 1.0
"""Seconds that an answer of the machine is used again: many jobs that are submitted at once ask at once."""


def read_listening(table: str) -> frozenset[int]:
    """The listening ports in the text of /proc/net/tcp or tcp6. Pure."""
    rows = (line.split() for line in table.splitlines()[1:])
    return frozenset(int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == _LISTEN)


def fetch_listening() -> frozenset[int]:
    """All listening ports of this machine; none where there is no /proc/net (then nothing is avoided)."""
    found: frozenset[int] = frozenset()
    for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            found |= read_listening(path.read_text())
        except OSError:
            continue
    return found


class Listening:
    """The listening ports of this machine, asked for at most once in a second. Call it."""

    def __init__(
        self, fetch: Callable[[], frozenset[int]] = fetch_listening, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch, self._clock = fetch, clock
        self._asked: float | None = None
        self._found: frozenset[int] = frozenset()

    def __call__(self) -> frozenset[int]:
        now = self._clock()
        if self._asked is None or now - self._asked >= _FRESH:
            self._asked, self._found = now, self._fetch()
        return self._found
