#!/usr/bin/env python3
"""A long run of the simulation (`tests/jobs/simulated`): the real operator in a hostile little world.

    tools/simulate.py                   a million steps, from seed 0
    tools/simulate.py 50000 --seed 7    so many, from seed 7
    tools/simulate.py --story 4711      what happened in one seed, step by step
    tools/simulate.py --fault KEPT      with this fault alone, of those in tests/jobs/simulated/faults.py

Each seed is a run of its own, and gives the same run again. Ends with 1 at the first sentence that does not hold.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from jobs.simulated.faults import FAULTS, Fault
from jobs.simulated.world import Run, run_seed

_EVERY = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--story", type=int, metavar="SEED", help="run this seed alone and print its steps")
    parser.add_argument("--fault", action="append", choices=list(Fault.__members__), help="once for each")
    asked = parser.parse_args()
    faults = FAULTS if asked.fault is None else frozenset(Fault[name] for name in asked.fault)
    logging.disable(logging.CRITICAL)  # operators that are killed and refused complain, as they should
    if asked.story is not None:
        run = run_seed(asked.story, faults=faults)
        print(*run.story, sep="\n")
        return _report(run)
    return simulate(asked.steps, asked.seed, faults)


def simulate(steps: int, seed: int, faults: frozenset[Fault]) -> int:
    first, done, begun, told = seed, 0, time.monotonic(), 0.0
    waits: list[float] = []
    while done < steps:
        run = run_seed(seed, faults=faults)
        done, seed = done + run.steps, seed + 1
        waits += run.waits
        if run.broken:
            return _report(run)
        if time.monotonic() - told > _EVERY or done >= steps:
            told = time.monotonic()
            rate = done / (told - begun)
            print(f"{done} of {steps} steps, seeds {first} to {seed - 1}, {rate:.0f} steps/s, all clean", flush=True)
    if waits:
        waits.sort()
        median, late = (waits[min(int(len(waits) * part), len(waits) - 1)] for part in (0.5, 0.99))
        print(f"{len(waits)} verdicts waited for other statuses: median {median:g} s, 99 % at most {late:.1f} s")
    return 0


def _report(run: Run) -> int:
    if not run.broken:
        print(f"seed {run.seed}: {run.steps} steps, clean")
        return 0
    print(f"seed {run.seed}, step {run.steps}: this does not hold: {run.broken}", file=sys.stderr)
    print(f"the steps of it: tools/simulate.py --story {run.seed}, with the same faults", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
