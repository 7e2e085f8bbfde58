"""Ports of jobs that share the machine's network: a block of 20 for each attempt, the same in all its pods.

Jobs share it on a laptop, and on a cluster with `intranet: Host`. Paddle's and torch's rendezvous servers bind all
addresses, so a separate address does not keep two jobs apart. Once a pod carries a port, the attempt keeps it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.model import PORTS_IN_BLOCK, Pod, Status
from paddock.jobs.policies.verdict import Verdict, plan_new_gang

# Blocks lie below Kubernetes' node ports (30000 to 32767) and Linux' range of ephemeral ports (32768 to 60999), and
# above the usual ports of services.
FIRST_PORT = 20_000
LAST_PORT = 29_999

_BLOCKS = (LAST_PORT + 1 - FIRST_PORT) // PORTS_IN_BLOCK


def choose_port(uid: str, attempt: int, taken: frozenset[int]) -> int | None:
    """The first port of a block in which no port is taken; None when there is no such block."""
    # The port follows from uid and attempt: the same inputs choose the same port.
    first = zlib.crc32(f"{uid}/{attempt}".encode()) % _BLOCKS
    full = {(port - FIRST_PORT) // PORTS_IN_BLOCK for port in taken}
    for offset in range(_BLOCKS):
        block = (first + offset) % _BLOCKS
        if block not in full:
            return FIRST_PORT + block * PORTS_IN_BLOCK
    return None


def kept_port(pods: Sequence[Pod]) -> int | None:
    """The port that the attempt's pods carry, if they do."""
    # The port is kept even if it is taken by now: the job's own pods listen there.
    return min((pod.port for pod in pods if pod.port is not None), default=None)


def plan_one_port(status: Status, pods: Sequence[Pod]) -> Verdict | None:
    """Recreates a gang whose pods carry different ports: a reconcile that did not see the pods of the one before may
    have chosen another port, and such ranks never meet."""
    ports = sorted({pod.port for pod in pods if pod.port is not None})
    if len(ports) < 2:
        return None
    return plan_new_gang(causes.PortsDiffer(tuple(map(str, ports))), status.attempt)
