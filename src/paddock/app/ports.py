"""Which TCP ports this machine listens on, so that no job is given one of them. Linux's /proc/net."""

from __future__ import annotations

from pathlib import Path

_LISTEN = "0A"


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
