"""A fleet at rest on a real API server: 500 running and 2,000 finished jobs of four pods, 10,000 pods in all.

What is written while nothing happens, by the API server's own count of every request to it, and what the operator holds
in memory, which leads and keeps its Lease meanwhile; also after a start that finds all of this.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from benchmarks.control_planes import ControlPlane, open_control_plane, wait_until_quiet
from benchmarks.figures import Figure
from benchmarks.gangs import MEMORY, PODS_OF_A_JOB
from benchmarks.load import JOBS, NAMESPACE
from benchmarks.loads import run_load
from benchmarks.operators import OperatorProcess, open_operator

RUNNING, FINISHED = 500, 2000
_LEADER = ("--leader-elect", "--lease-namespace", NAMESPACE)


def measure() -> Sequence[Figure]:
    """The minutes at rest: one, or what $PADDOCK_BENCH_IDLE_MINUTES says (`--full`: ten)."""
    minutes = float(os.environ.get("PADDOCK_BENCH_IDLE_MINUTES", "1"))
    with open_control_plane(JOBS) as plane:
        with open_operator(plane, *_LEADER) as operator:
            _fill(plane, operator)
            most = operator.memory[1]
            rest = _rest(plane, operator, minutes)
        with open_operator(plane, *_LEADER) as operator:
            wait_until_quiet(operator.pid)
            again = operator.memory[1]
    pods = f"{(RUNNING + FINISHED) * PODS_OF_A_JOB:,} pods"
    memory = f"{MEMORY:.0f} MB"
    return (
        rest,
        Figure(f"… resident at most, {pods}", f"{most:.0f} MB", "", "", memory, most <= MEMORY),
        Figure(f"… started anew, {pods} there", f"{again:.0f} MB", "", "", memory, again <= MEMORY),
    )


def _fill(plane: ControlPlane, operator: OperatorProcess) -> None:
    """Returns once the operator has recorded all of it."""
    everybody = RUNNING + FINISHED
    run_load(plane, "submit", everybody, PODS_OF_A_JOB)
    run_load(plane, "publish", everybody, PODS_OF_A_JOB, "Running")
    run_load(plane, "publish", FINISHED, PODS_OF_A_JOB, "Succeeded")
    run_load(plane, "expect", "Completed", FINISHED)
    run_load(plane, "expect", "Running", RUNNING)
    wait_until_quiet(operator.pid)


def _rest(plane: ControlPlane, operator: OperatorProcess, minutes: float) -> Figure:
    before, cpu = plane.count_requests(), operator.cpu
    time.sleep(60 * minutes)
    counts = plane.count_requests() - before
    spent = operator.cpu - cpu
    writes = {asked: count for asked, count in counts.items() if asked.writes and count}
    leases = sum(count for asked, count in writes.items() if asked.resource == "leases")
    others = {f"{asked.resource} {asked.verb}": count for asked, count in writes.items() if asked.resource != "leases"}
    said = ", ".join(f"{name} {count}" for name, count in sorted(others.items())) or "none"
    return Figure(
        f"{RUNNING} running and {FINISHED:,} finished jobs of {PODS_OF_A_JOB} pods for {minutes:g} min: writes",
        f"{said}; the Lease's: {leases}",
        "",
        f"{spent:.2f} s of CPU",
        "none but the Lease's",
        not others,
    )
