"""Whose an address is. Pure."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

LOOPBACK = "this machine"
_NETWORK_BITS = 64
"""Of an IPv6 address: a network gives each of its hosts as many addresses below them as it likes (RFC 4291, 2.5.4)."""


def name_owner(address: str) -> str:
    """The same text for all addresses that one client has at its will: those of one IPv6 network, and those of this
    machine, of which whoever runs a program here may bind any (127.0.0.0/8, RFC 1122, 3.2.1.3). An IPv4 address within
    IPv6 is that IPv4 address. Empty for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return LOOPBACK
    if isinstance(found, IPv6Address):
        return f"{IPv6Address(int(found) >> _NETWORK_BITS << _NETWORK_BITS)}/{_NETWORK_BITS}"
    return str(found)
