"""PyTorchJobs of 1 Master and 3 Workers at once, on a real API server, as `gangs` does it for PaddleJobs of 4 workers.

They, as many PaddleJobs of 4 workers, and the bare loop take turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import Figure, Pair, alternate, seconds
from benchmarks.gangs import PODS_OF_A_JOB, TIMES, Runs, build_figures

JOBS = 100


def measure() -> Sequence[Figure]:
    runs, others = Runs("pytorch", JOBS), Runs("paddle", JOBS)
    beside: list[float] = []

    def plain() -> float:
        beside.append(others.ours())
        return runs.plain()

    pair = alternate(runs.ours, plain, TIMES, warm_up=0)
    ratio = Pair(pair.ours, tuple(beside)).ratio
    against = Figure(
        "… beside as many PaddleJobs of 4 workers",
        seconds(pair.ours),
        f"PaddleJobs {seconds(beside)}",
        f"{ratio:.2f} times",
        "told",
    )
    size = f"{JOBS} PyTorchJobs of 1 Master and {PODS_OF_A_JOB - 1} Workers at once"
    all_exist, *more = build_figures(size, pair, runs)
    return (all_exist, against, *more)
