"""Which loopback address a pod gets. Pure.

PaddlePaddle counts a job's machines by the distinct hosts in its list of endpoints, so each pod needs an address of its
own; on one machine all of 127.0.0.0/8 is there without any set-up. The pods' part is 127.64.0.0/10, far from 127.0.0.1
and from what others take there (127.0.0.53 of systemd-resolved, 127.0.1.1 of Debian's hosts file).

An address does not keep two jobs apart, as rendezvous servers bind all of them: ports do (`paddock.node.placement`).
"""

from __future__ import annotations

from collections.abc import Collection

_HOSTS = 254  # of a last octet: without 0, a network's own, and 255, a broadcast
ADDRESSES = 64 * 256 * _HOSTS
"""How many addresses pods can have."""


def plan_address(taken: Collection[str], seed: int) -> str:
    """The first free address from `seed` on: `127.x.y.z` with x from 64 to 127 and z from 1 to 254.

    The same seed and the same `taken` give the same address. `LookupError` when all are taken.
    """
    held = frozenset(taken)
    for step in range(ADDRESSES):
        address = _address(seed + step)
        if address not in held:
            return address
    raise LookupError(f"all {ADDRESSES} addresses of pods (127.64.0.1 to 127.127.255.254) are taken")


def _address(slot: int) -> str:
    upper, host = divmod(slot % ADDRESSES, _HOSTS)
    return f"127.{64 + upper // 256}.{upper % 256}.{host + 1}"
