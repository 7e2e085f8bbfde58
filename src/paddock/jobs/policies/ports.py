"""Ports of jobs that share a machine's network: a block of 20 for each attempt, the same in every pod of it.

All jobs of a laptop do, and those of a cluster with `intranet: Host`. Blocks lie below Kubernetes' node ports (30000 to
32767) and Linux' range of ephemeral ports (32768 to 60999), from which the system hands ports to anybody, and above
where services usually live. Paddle's and torch's rendezvous servers bind all addresses, so that an address of
one's own does not keep two jobs apart. The choice follows from uid and attempt: planned twice, it is the same. Once
a pod carries it, it is kept for the attempt, whatever is taken by then: the job's own pods listen there.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.model import PORTS_IN_BLOCK, Intranet, Job, Pod, Settings, Status
from paddock.jobs.policies.verdict import Verdict, plan_new_gang

FIRST_PORT = 20_000
LAST_PORT = 29_999

_BLOCKS = (LAST_PORT + 1 - FIRST_PORT) // PORTS_IN_BLOCK


def shares_network(job: Job, settings: Settings) -> bool:
    return settings.shared_network or job.network.intranet is Intranet.HOST


def choose_port(uid: str, attempt: int, taken: frozenset[int]) -> int | None:
    """The first port of a block in which no port is taken; None when there is no such block."""
    first = zlib.crc32(f"{uid}/{attempt}".encode()) % _BLOCKS
    full = {(port - FIRST_PORT) // PORTS_IN_BLOCK for port in taken}
    for offset in range(_BLOCKS):
        block = (first + offset) % _BLOCKS
        if block not in full:
            return FIRST_PORT + block * PORTS_IN_BLOCK
    return None


def kept_port(pods: Sequence[Pod]) -> int | None:
    """The port that the attempt's pods carry, if they do."""
    return min((pod.port for pod in pods if pod.port is not None), default=None)


def plan_one_port(status: Status, pods: Sequence[Pod]) -> Verdict | None:
    """A pass that did not see the pods of the one before may have chosen another port: such a gang never meets."""
    ports = sorted({pod.port for pod in pods if pod.port is not None})
    if len(ports) < 2:
        return None
    return plan_new_gang(causes.PortsDiffer(tuple(map(str, ports))), status.attempt)
