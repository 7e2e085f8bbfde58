"""What faults cost on a real API server: a pod of a running gang is deleted; the operator that leads is killed.

A new gang is whole when its last pod exists. Pods are bound to no node here, so that a deletion takes no grace period,
and what is measured is the operator: against a bare loop that deletes and creates the same pods by itself.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.control_planes import ControlPlane, open_control_plane, wait_until_quiet
from benchmarks.figures import Figure
from benchmarks.gangs import PODS_OF_A_JOB
from benchmarks.load import JOBS, NAMESPACE, build_job
from benchmarks.loads import run_load
from benchmarks.operators import OperatorProcess, open_operator
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.install.rights import LEASE
from paddock.kube.errors import NotFound
from paddock.kube.meta import LEASES, PODS

GANGS, KILLS = 50, 3
FAILOVER = 5.0
_LEADER = ("--leader-elect", "--lease-namespace", NAMESPACE)


def measure() -> Sequence[Figure]:
    with open_control_plane(JOBS) as plane, open_operator(plane) as operator:
        run_load(plane, "submit", GANGS, PODS_OF_A_JOB)
        run_load(plane, "publish", GANGS, PODS_OF_A_JOB, "Running")
        run_load(plane, "expect", "Running", GANGS)
        wait_until_quiet(operator.pid)
        ours = run_load(plane, "delete", GANGS, PODS_OF_A_JOB)
    with open_control_plane(JOBS) as plane:
        run_load(plane, "bare", GANGS, PODS_OF_A_JOB)
        plain = run_load(plane, "replace", GANGS, PODS_OF_A_JOB)
    with open_control_plane(JOBS) as plane:
        failovers = _fail_over(plane)
    return (
        Figure(
            f"a pod of {PODS_OF_A_JOB} deleted, until the next gang is whole; {GANGS} times; p50 / p99",
            _percentiles(ours),
            f"bare loop {_percentiles(plain)}",
            f"{statistics.median(ours) / statistics.median(plain):.1f} times",
            "told",
        ),
        Figure(
            f"leader killed (-9), until the other has made a new job's first pod; {KILLS} times",
            f"{statistics.median(failovers):.1f} s ({min(failovers):.1f} to {max(failovers):.1f})",
            "",
            "",
            f"{FAILOVER:.0f} s",
            max(failovers) <= FAILOVER,
        ),
    )


def _percentiles(durations: Sequence[float]) -> str:
    last = sorted(durations)[int(0.99 * len(durations))]
    return f"{statistics.median(durations) * 1e3:.0f} / {last * 1e3:.0f} ms"


def _fail_over(plane: ControlPlane) -> list[float]:
    """Seconds from a kill to the first pod of a job that is submitted at once."""
    durations = []
    with ExitStack() as stack:
        leader = stack.enter_context(open_operator(plane, *_LEADER))
        holder = asyncio.run(_until_held(plane, ""))
        for number in range(KILLS):
            other = stack.enter_context(open_operator(plane, *_LEADER))
            durations.append(asyncio.run(_kill(plane, leader, f"after-{number}")))
            leader, holder = other, asyncio.run(_until_held(plane, holder))
    return durations


async def _kill(plane: ControlPlane, leader: OperatorProcess, name: str) -> float:
    async with Client(read_config(str(plane.kubeconfig))) as client, asyncio.timeout(120):
        await client.list(PODS, NAMESPACE)  # a connection is there
        begun = time.perf_counter()
        leader.kill()
        await client.create(JOBS, build_job(name, PODS_OF_A_JOB))
        while not (await client.list(PODS, NAMESPACE, labels=f"paddock.dev/job={name}")).items:  # noqa: ASYNC110 - a server is waited for
            await asyncio.sleep(0.02)
        return time.perf_counter() - begun


async def _until_held(plane: ControlPlane, before: str) -> str:
    """Who holds the Lease, once that is somebody else than `before`."""
    async with Client(read_config(str(plane.kubeconfig))) as client, asyncio.timeout(60):
        while (holder := await _fetch_holder(client)) in ("", before):  # noqa: ASYNC110 - a server is waited for
            await asyncio.sleep(0.05)
        return holder


async def _fetch_holder(client: Client) -> str:
    try:
        lease = await client.get(LEASES, NAMESPACE, LEASE)
    except NotFound:
        return ""
    return str(lease["spec"].get("holderIdentity") or "")
