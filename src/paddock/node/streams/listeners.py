"""Who listens where on this machine, from /proc/net/tcp and tcp6, and whom a connection would reach. Pure, but for
`fetch_listeners`.

Pods have an address each and share the machine's network: a port that any program has opened on all addresses answers
at the address of each pod. So a port is a pod's only if a process of the pod has its socket open.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOPBACK, LOOPBACK6 = "127.0.0.1", "::1"
_ANY, _ANY6 = "0.0.0.0", "::"  # noqa: S104 - to compare
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
# Linux writes a socket's state as a hexadecimal number; 10 is TCP_LISTEN.
_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that waits for connections."""

    address: str
    port: int
    socket: int
    """Its inode, by which the descriptors of processes name it."""


@dataclass(frozen=True, slots=True)
class Found:
    """Whom connections to a pod's port reach."""

    address: str = ""
    """Where to connect to; empty if nobody may."""
    foreign: Listener | None = None
    """A socket that answers there and is not the pod's."""


def fetch_listeners() -> list[Listener]:
    """All of this machine; none where there is no /proc/net."""
    found: list[Listener] = []
    for path in _TABLES:
        with suppress(OSError):
            found += read_listeners(Path(path).read_text(), little_endian=sys.byteorder == "little")
    return found


def read_listeners(table: str, *, little_endian: bool) -> list[Listener]:
    """The listening sockets in the text of /proc/net/tcp or tcp6. Addresses are written in the machine's byte order, a
    word of four bytes each (proc(5))."""
    found = []
    for row in (line.split() for line in table.splitlines()[1:]):
        if len(row) < 10 or row[3] != _LISTEN:
            continue
        host, _, port = row[1].rpartition(":")
        found.append(Listener(_read_address(host, little_endian=little_endian), int(port, 16), int(row[9])))
    return found


def _read_address(text: str, *, little_endian: bool) -> str:
    words = [bytes.fromhex(text[start : start + 8]) for start in range(0, len(text), 8)]
    raw = b"".join(word[::-1] if little_endian else word for word in words)
    address = ipaddress.ip_address(raw)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def find_address(listeners: Iterable[Listener], port: int, pod_address: str, own: Collection[int]) -> Found:
    """Where the pod's program answers. `own`: the sockets that processes of the pod have open.

    Its own address comes first, then the machine's loopback. Linux gives a connection to the most exact address that is
    listened on. Several sockets of one address and port share the connections (SO_REUSEPORT): all must be the pod's.
    """
    there = [each for each in listeners if each.port == port]
    foreign: Listener | None = None
    for address in (pod_address, LOOPBACK, LOOPBACK6):
        reached = _find_reached(there, address) if address else []
        others = [each for each in reached if each.socket not in own]
        if reached and not others:
            return Found(address)
        if foreign is None and others:
            foreign = others[0]
    return Found(foreign=foreign)


def _find_reached(there: Iterable[Listener], address: str) -> list[Listener]:
    order = (address, _ANY6) if ":" in address else (address, _ANY, _ANY6)
    for exact in order:
        if reached := [each for each in there if each.address == exact]:
            return reached
    return []
