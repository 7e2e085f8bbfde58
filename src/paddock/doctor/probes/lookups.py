"""Names of peers -> addresses, each in a thread of its own, with a bound."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from paddock.doctor.host.endpoints import is_address
from paddock.doctor.host.peers import PATIENCE
from paddock.doctor.probes.bounded import run_bounded


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a name stands for."""

    address: str  # IPv4 if the name has one; empty if it stands for nothing
    milliseconds: int = 0  # how long it took
    is_found: bool = True


async def look_up(host: str) -> Lookup:
    if is_address(host):
        return Lookup(host)
    started = time.monotonic()
    try:
        address = await run_bounded(lambda: _resolve(host), PATIENCE)
    except TimeoutError:
        return Lookup("", _since(started), is_found=False)
    return Lookup(address, _since(started))


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _resolve(host: str) -> str:
    try:
        found = [str(each[4][0]) for each in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return ""
    return next((each for each in found if ":" not in each), found[0] if found else "")


def find_source(address: str) -> str:
    """The own address by which `address` is reached, by the table of routes: a datagram socket sends nothing. Empty if
    there is no route."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, 9))
            return str(sock.getsockname()[0])
        except OSError:
            return ""
