"""Many jobs of four pods at once, on a real API server: until all their pods exist, against a bare loop.

PaddleJobs of 4 workers; `pytorch_gangs` has PyTorchJobs of 1 Master and 3 Workers.

The bare loop is the same client, with as many requests at once, that creates the same pods and Services, byte for byte,
and has no jobs to read, no status to record and nothing to watch. Each run has a new API server; runs take turns.
Besides: what the operator and the API server spend on a job, and how many answers a job waits for one after another.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.control_planes import Asked, ControlPlane, open_control_plane, wait_until_quiet
from benchmarks.figures import Figure, Pair, alternate, seconds
from benchmarks.load import JOBS, build_job
from benchmarks.loads import run_load
from benchmarks.operators import open_operator
from benchmarks.shapes import SHAPES, Shape
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Settings
from paddock.kube.meta import EVENTS, PODS, Resource
from paddock.operator.metrics import MeasuredApi, Measures
from paddock.operator.operator import Operator

PODS_OF_A_JOB = 4
TIMES = 3
RATIO, REQUESTS, MEMORY = 1.5, 13.0, 150.0
_ASKED_FOR = {"pods", "services", "configmaps", "events"}


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: requests until all pods exist, and until all is at rest; CPU seconds; MB at most."""

    until_pods: Counter[Asked]
    in_all: Counter[Asked]
    operator: float
    server: float
    memory: float


def measure() -> Sequence[Figure]:
    return (*_measure(100), *_measure(1000), _measure_round_trips())


@dataclass(slots=True)
class Runs:
    """The runs of one shape, and what was seen in each."""

    name: str
    jobs: int
    costs: list[Cost] = field(default_factory=list)
    seen: list[dict[str, float]] = field(default_factory=list)
    servers: list[float] = field(default_factory=list)

    @property
    def shape(self) -> Shape:
        return SHAPES[self.name]

    def ours(self) -> float:
        resource = self.shape.resource
        kinds = f"--kinds={resource.plural}.{resource.group}"
        with open_control_plane(resource) as plane, open_operator(plane, kinds) as operator:
            requests, cpu, server = plane.count_requests(), operator.cpu, plane.cpu()
            self.seen.append(run_load(plane, "submit", self.jobs, PODS_OF_A_JOB, shape=self.name))
            until = plane.count_requests() - requests
            wait_until_quiet(operator.pid)
            spent, memory = operator.cpu - cpu, operator.memory[1]
            self.costs.append(Cost(until, plane.count_requests() - requests, spent, plane.cpu() - server, memory))
            return self.seen[-1]["seconds"]

    def plain(self) -> float:
        with open_control_plane(self.shape.resource) as plane:
            server = plane.cpu()
            took: float = run_load(plane, "bare", self.jobs, PODS_OF_A_JOB, shape=self.name)["seconds"]
            self.servers.append(plane.cpu() - server)
            return took


def _measure(jobs: int) -> Sequence[Figure]:
    runs = Runs("paddle", jobs)
    pair = alternate(runs.ours, runs.plain, TIMES, warm_up=0)
    return build_figures(f"{jobs:,} jobs of {PODS_OF_A_JOB} pods at once", pair, runs)


def build_figures(size: str, pair: Pair, runs: Runs) -> Sequence[Figure]:
    figures = [
        Figure(
            f"{size}: all pods exist",
            seconds(pair.ours),
            f"bare loop {seconds(pair.plain)}",
            f"{pair.ratio:.2f} times",
            f"{RATIO} times",
            pair.ratio <= RATIO,
        ),
        Figure(
            "… a job from its submission to its last pod, p50 / p99",
            f"{_median(runs.seen, 'p50'):.2f} / {_median(runs.seen, 'p99'):.2f} s",
            "",
            "",
            "told",
        ),
    ]
    return (*figures, *_build_costs(runs))


def _build_costs(runs: Runs) -> Sequence[Figure]:
    jobs, costs, plural = runs.jobs, runs.costs, runs.shape.resource.plural
    until, in_all = (
        statistics.median(of_operator(each, plural) for each in counts) / jobs for counts in _counts(costs)
    )
    operator, server, memory = (
        statistics.median(getattr(cost, name) for cost in costs) for name in ("operator", "server", "memory")
    )
    requests = f"{until:.1f}, then {in_all - until:.1f} until at rest"
    bare = statistics.median(runs.servers) / jobs * 1e3
    told = (
        Figure(
            "… requests of the operator per job until all pods exist",
            requests,
            f"{2 * PODS_OF_A_JOB} creates",
            f"in all: {list_requests(costs[-1].in_all, jobs, plural)}",
            f"{REQUESTS:.0f}",
            until <= REQUESTS,
        ),
        Figure("… CPU of the operator per job, until at rest", f"{operator / jobs * 1e3:.1f} ms", "", "", "told"),
        Figure(
            "… CPU of kube-apiserver per job, until at rest",
            f"{server / jobs * 1e3:.1f} ms",
            f"{bare:.1f} ms",
            f"{server / jobs * 1e3 / bare:.1f} times",
            "told",
        ),
    )
    size = f"… resident at most, {jobs * PODS_OF_A_JOB:,} pods"
    return (*told, Figure(size, f"{memory:.0f} MB", "", "", f"{MEMORY:.0f} MB", memory <= MEMORY))


def _counts(costs: Sequence[Cost]) -> Iterable[Sequence[Counter[Asked]]]:
    return [cost.until_pods for cost in costs], [cost.in_all for cost in costs]


def of_operator(counts: Counter[Asked], plural: str) -> int:
    """All that was asked about jobs and their children, but for the creation of the jobs, which is the load's."""
    return sum(counts[asked] for asked in _asked_by_operator(counts, plural))


def _asked_by_operator(counts: Counter[Asked], plural: str) -> Sequence[Asked]:
    about = _ASKED_FOR | {plural, f"{plural}/status"}
    return sorted(asked for asked in counts if asked.resource in about and asked != Asked("POST", plural))


def list_requests(counts: Counter[Asked], jobs: int, plural: str) -> str:
    """Per job."""
    each = {asked: counts[asked] / jobs for asked in _asked_by_operator(counts, plural)}
    said = [f"{asked.resource} {asked.verb} {count:.1f}" for asked, count in each.items() if count >= 0.05]
    return ", ".join(said)


def _median(seen: Sequence[dict[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in seen)


class _Waits(Measures):
    """When each call began and ended."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, float, str, Resource]] = []
        self._news = asyncio.Event()

    def requested(self, verb: str, resource: Resource, code: int, seconds: float) -> None:
        now = time.monotonic()
        self.calls.append((now - seconds, now, verb, resource))
        self._news.set()

    async def pods_made(self, count: int) -> None:
        while sum(call[2:] == ("create", PODS) for call in self.calls) < count:
            self._news.clear()
            await self._news.wait()

    def in_a_row(self) -> int:
        """How often a call began after all before it had ended, up to the first creation of a pod. Events wait for
        nobody, and nobody for them."""
        calls = sorted(call for call in self.calls if call[3] != EVENTS)
        rounds, ended = 0, 0.0
        for begun, end, verb, resource in calls:
            rounds += begun > ended
            ended = max(ended, end)
            if (verb, resource) == ("create", PODS):
                break
        return rounds


def _measure_round_trips() -> Figure:
    with open_control_plane(JOBS) as plane:
        rounds = asyncio.run(_count_round_trips(plane))
    return Figure("answers that a job's pods wait for, one after another", f"{rounds}", "1", "its own included", "told")


async def _count_round_trips(plane: ControlPlane) -> int:
    """By an operator in this process, whose calls can be seen."""
    waits = _Waits()
    async with Client(read_config(str(plane.kubeconfig))) as client:
        operator = Operator(MeasuredApi(client, waits), Settings(), kinds={JOBS: KINDS[JOBS]})
        running = asyncio.create_task(operator.run())
        await operator.ready.wait()
        waits.calls.clear()
        await client.create(JOBS, build_job("one", PODS_OF_A_JOB))
        await waits.pods_made(PODS_OF_A_JOB)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return waits.in_a_row()
