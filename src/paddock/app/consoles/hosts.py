"""The address of a user's consoles: one on the loopback network that no other user's consoles have.

It keeps apart what browsers tell apart by host, and is no protection by itself: every user of a machine may listen at
all of 127.0.0.0/8. The pods of local clusters have 127.64.0.0/10 (`node.runtime.addresses`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

_BITS = 22
_OWN = int(IPv4Address("127.128.0.0"))
"""127.128.0.0/10: one address for each user below 2^22, also .0 and .255, which are hosts like any other here."""
_SHARED = int(IPv4Address("127.192.0.0"))
"""127.192.0.0/10: of users with larger numbers, as directories give them. Its last one is the broadcast address."""
_TRIES = 64
_LISTEN = "0A"


class Listener(NamedTuple):
    user: int
    address: str


def choose_host(user: int, listening: Collection[Listener] = ()) -> str:
    """The address for this user. Above 2^22 users it is the first of the user's own row at which nobody else listens,
    so it is the same as long as it can be. Pure."""
    if user < 1 << _BITS:
        return str(IPv4Address(_OWN + user))
    taken = {each.address for each in listening if each.user != user}
    candidates = list(_list_candidates(user))
    return next((each for each in candidates if each not in taken), candidates[0])


def _list_candidates(user: int) -> Iterator[str]:
    for step in range(_TRIES):
        digest = hashlib.sha256(f"{user}.{step}".encode()).digest()
        yield str(IPv4Address(_SHARED + int.from_bytes(digest[:8], "big") % ((1 << _BITS) - 1)))


def find_host() -> str:
    """The host of a console for the user of this process."""
    user = os.getuid()
    return choose_host(user, () if user < 1 << _BITS else fetch_listeners())


def read_listeners(table: str, order: str = sys.byteorder) -> frozenset[Listener]:
    """The listeners in the text of Linux's /proc/net/tcp. `order`: the machine's, in which it writes an address:
    `0100007F` is 127.0.0.1. Pure."""
    rows = (line.split() for line in table.splitlines()[1:])
    return frozenset(
        Listener(int(row[7]), _read_address(row[1], order)) for row in rows if len(row) > 7 and row[3] == _LISTEN
    )


def _read_address(written: str, order: str) -> str:
    raw = bytes.fromhex(written.partition(":")[0])
    return str(IPv4Address(raw[::-1] if order == "little" else raw))


def fetch_listeners() -> frozenset[Listener]:
    """The listeners of this machine; empty where there is no /proc/net."""
    try:
        return read_listeners(Path("/proc/net/tcp").read_text())
    except OSError:
        return frozenset()
