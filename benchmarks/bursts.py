"""A burst of jobs in one operator on a real API server: from their submission to their end, phase by phase.

1,000 jobs of 4 workers, or $PADDOCK_BENCH_BURST_JOBS. The load sends 64 requests at once, so that none waits in it
after it was sent; then it says of all pods what kubelets would say: that they run, and that they have succeeded. Told
are, of each phase, the requests of the operator, its CPU and the API server's; and of the first, the time against a
bare loop of the same client on a server of its own, in turns. Such ratios can be compared with those of other
operators; seconds of different machines cannot.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.control_planes import Asked, ControlPlane, open_control_plane, wait_until_quiet
from benchmarks.figures import Figure, alternate, seconds
from benchmarks.gangs import PODS_OF_A_JOB, of_operator
from benchmarks.load import JOBS
from benchmarks.loads import run_load
from benchmarks.operators import OperatorProcess, open_operator

TIMES = 3
RATIO = 2.0
CPU = 3.0
"""Seconds of the operator for a thousand jobs, until all pods exist."""
REQUESTS = {"until its pods exist": 9.0, "… then until it runs": 2.0, "… then until its end, without deletions": 2.0}


@dataclass(frozen=True, slots=True)
class Phase:
    """What one phase cost for a job: requests by kind, CPU seconds of the operator and of the API server."""

    requests: Counter[Asked]
    operator: float
    server: float


@dataclass(slots=True)
class Burst:
    """The runs so far. `memory`: MB that an operator held at most."""

    jobs: int
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    waits: list[dict[str, float]] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def ours(self) -> float:
        with open_control_plane(JOBS) as plane, open_operator(plane) as operator:
            until, running, end = REQUESTS
            self._measure(until, plane, operator, lambda: self._submit(plane))
            self._measure(running, plane, operator, lambda: self._tell(plane, "Running", "Running"))
            self._measure(end, plane, operator, lambda: self._tell(plane, "Succeeded", "Completed", operator))
            self.memory.append(operator.memory[1])
        return self.waits[-1]["seconds"]

    def plain(self) -> float:
        with open_control_plane(JOBS) as plane:
            return float(run_load(plane, "bare", self.jobs, PODS_OF_A_JOB)["seconds"])

    def _submit(self, plane: ControlPlane) -> None:
        self.waits.append(run_load(plane, "submit", self.jobs, PODS_OF_A_JOB))

    def _tell(self, plane: ControlPlane, pods: str, jobs: str, until_quiet: OperatorProcess | None = None) -> None:
        run_load(plane, "publish", self.jobs, PODS_OF_A_JOB, pods)
        run_load(plane, "expect", jobs, self.jobs)
        if until_quiet is not None:
            wait_until_quiet(until_quiet.pid)

    def _measure(self, name: str, plane: ControlPlane, operator: OperatorProcess, work: Callable[[], None]) -> None:
        requests, cpu, server = plane.count_requests(), operator.cpu, plane.cpu()
        work()
        phase = Phase(plane.count_requests() - requests, operator.cpu - cpu, plane.cpu() - server)
        self.phases.setdefault(name, []).append(phase)


def measure() -> Sequence[Figure]:
    burst = Burst(int(os.environ.get("PADDOCK_BENCH_BURST_JOBS", "1000")))
    pair = alternate(burst.ours, burst.plain, TIMES, warm_up=0)
    size = f"{burst.jobs:,} jobs of {PODS_OF_A_JOB} pods at once"
    return (
        Figure(
            f"{size}: all pods exist",
            seconds(pair.ours),
            f"bare loop {seconds(pair.plain)}",
            f"{pair.ratio:.2f} times",
            f"{RATIO:g} times",
            pair.ratio <= RATIO,
        ),
        Figure("… a job from its submission to its last pod, p50 / p99", _describe_waits(burst.waits), "", "", "told"),
        _build_cpu(burst),
        *(_build_requests(name, phases, burst.jobs) for name, phases in burst.phases.items()),
        Figure("… resident at most", f"{statistics.median(burst.memory):.0f} MB", "", "", "told"),
    )


def _describe_waits(waits: Sequence[dict[str, float]]) -> str:
    p50, p99 = (statistics.median(each[name] for each in waits) for name in ("p50", "p99"))
    return f"{p50:.2f} / {p99:.2f} s"


def _build_cpu(burst: Burst) -> Figure:
    until = next(iter(burst.phases.values()))
    operator = statistics.median(phase.operator for phase in until)
    server = statistics.median(phase.server for phase in until)
    limit = CPU * burst.jobs / 1000
    return Figure(
        "… CPU of the operator until all pods exist",
        f"{operator:.2f} s, {operator / burst.jobs * 1e3:.1f} ms a job",
        "",
        f"kube-apiserver {server:.2f} s",
        f"{limit:g} s",
        operator <= limit,
    )


def _build_requests(name: str, phases: Sequence[Phase], jobs: int) -> Figure:
    """Per job. Deletions are of what the job had, and are told beside."""
    asked = [_without_load(phase.requests) for phase in phases]
    per_job = statistics.median(of_operator(each, JOBS.plural) for each in asked) / jobs
    deleted = sum(count for one, count in phases[-1].requests.items() if one.verb == "DELETE") / jobs
    limit = REQUESTS[name]
    return Figure(
        f"… requests of the operator per job {name.removeprefix('… ')}",
        f"{per_job:.1f}",
        f"and {deleted:.1f} deletions" if deleted >= 0.05 else "",
        _list(asked[-1], jobs),
        f"{limit:g}",
        per_job <= limit,
    )


def _without_load(counts: Counter[Asked]) -> Counter[Asked]:
    """Without deletions, and without what kubelets say."""
    return Counter({
        asked: count for asked, count in counts.items() if asked.verb != "DELETE" and asked.resource != "pods/status"
    })  # fmt: skip


def _list(counts: Counter[Asked], jobs: int) -> str:
    ours = {asked: count / jobs for asked, count in counts.items() if of_operator(Counter({asked: 1}), JOBS.plural)}
    return ", ".join(
        f"{asked.resource} {asked.verb} {each:.1f}" for asked, each in sorted(ours.items()) if each >= 0.05
    )
