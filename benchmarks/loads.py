"""Runs the load of a fleet, `benchmarks.load` or another program, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.control_planes import ControlPlane


def run_load(plane: ControlPlane, verb: str, *words: object, shape: str = "paddle", program: str = "load") -> Any:
    """What it saw. A failure ends the benchmark, with its words. `shape`: which jobs, of `benchmarks.shapes`."""
    command = [sys.executable, "-m", f"benchmarks.{program}", verb, str(plane.kubeconfig), *map(str, words)]
    environment = {**os.environ, "PADDOCK_BENCH_SHAPE": shape}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ended.returncode:
        raise SystemExit(f"benchmarks.{program} {verb} failed:\n{ended.stderr}")
    return json.loads(ended.stdout)
