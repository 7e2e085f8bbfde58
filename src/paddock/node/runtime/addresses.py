"""Assigns a loopback address to each pod. Pure.

PaddlePaddle counts a job's machines by the distinct hosts in its list of endpoints, so each pod needs an address of its
own; on one machine all of 127.0.0.0/8 works without set-up. Pods get 127.64.0.0/10.

Addresses do not isolate two jobs, because rendezvous servers bind all addresses: ports do (`node.scheduler.placement`).
"""

from __future__ import annotations

from collections.abc import Collection

# The last octet is neither 0 (network) nor 255 (broadcast).
_HOSTS = 254
ADDRESSES = 64 * 256 * _HOSTS
"""The number of pod addresses."""


def plan_address(taken: Collection[str], seed: int) -> str:
    """The first free address from `seed` on: `127.x.y.z` with x from 64 to 127 and z from 1 to 254.

    The same seed and `taken` give the same address. Raises `LookupError` if all are taken.
    """
    held = frozenset(taken)
    for step in range(ADDRESSES):
        address = _address(seed + step)
        if address not in held:
            return address
    raise LookupError(f"all {ADDRESSES} addresses of pods (127.64.0.1 to 127.127.255.254) are taken")


def _address(slot: int) -> str:
    upper, host = divmod(slot % ADDRESSES, _HOSTS)
    # From 64 on: this avoids 127.0.0.1, and 127.0.0.53 of systemd-resolved and 127.0.1.1 of Debian's hosts file.
    return f"127.{64 + upper // 256}.{upper % 256}.{host + 1}"
