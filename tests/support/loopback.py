"""The loopback: an address of one's own, and that of IPv6, which not every machine has: a container without IPv6, a
kernel by `ipv6.disable=1`."""

from __future__ import annotations

import os
import socket

from support.programs import lack


def has_ipv6() -> bool:
    """Whether somebody may listen at ::1."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def need_ipv6() -> None:
    """Skips the test where nobody may listen at ::1."""
    if not has_ipv6():
        lack("::1", "this machine does not have (the loopback of IPv6)")


def own_address() -> str:
    """An address of the loopback that is this process's own. Where a port is chosen first and listened at later, as by
    a server that comes back, nobody else gets it meanwhile: all other tests are given ports of 127.0.0.1."""
    number = os.getpid() & 0xFFFF
    return f"127.99.{number >> 8}.{number & 0xFF}"
