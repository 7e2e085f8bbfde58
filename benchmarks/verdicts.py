"""How long a job's end waits for statuses that may be under way (decision 19), in the simulation of the operator.

Its clock is virtual, so the figures are the same on every machine. Each seed is a run with faults of every kind, in
which statuses arrive late and in any order. A verdict waits from the first end that was seen to its own.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

SEEDS = 500


def measure() -> Sequence[Figure]:
    from jobs.simulated.world import run_seed

    logging.disable(logging.CRITICAL)  # operators that are killed and refused complain, as they should
    try:
        runs = [run_seed(seed) for seed in range(SEEDS)]
    finally:
        logging.disable(logging.NOTSET)
    waits = sorted(wait for run in runs for wait in run.waits)
    median, late = (waits[min(int(len(waits) * part), len(waits) - 1)] for part in (0.5, 0.99))
    broken = sum(bool(run.broken) for run in runs)
    return (
        Figure(
            f"an end that was seen, until its verdict; {len(waits)} verdicts in {SEEDS} runs; median / p99",
            f"{median:g} / {late:.1f} s",
            "",
            "two ends 9 s apart and a status 9 s late lie 18 s apart",
            "median 0 s",
            median == 0.0,
        ),
        Figure(
            f"… runs of {sum(run.steps for run in runs):,} steps in all in which a sentence broke",
            str(broken),
            "",
            "",
            "none",
            not broken,
        ),
    )
