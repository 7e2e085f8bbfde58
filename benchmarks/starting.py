"""The embedded cluster: from an empty directory to Ready, and what its one process holds in memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence

import psutil

from benchmarks.clusters import open_directory
from benchmarks.figures import Figure, alternate, seconds, timed

TIMES = 7
_IMPORTS = "import aiohttp.web, click, cryptography.x509, msgspec, rich.console, sqlite3, uvloop"


def measure() -> Sequence[Figure]:
    memory: list[float] = []

    def ours() -> float:
        with open_directory() as cluster:
            took = timed(lambda: cluster.paddock("up"))
            memory.append(psutil.Process(cluster.pid).memory_info().rss / 2**20)
            return took

    def plain() -> float:
        return timed(lambda: subprocess.run([sys.executable, "-c", _IMPORTS], check=True))

    pair = alternate(ours, plain, TIMES)
    resident = statistics.median(memory)
    return (
        Figure(
            "`paddock up` in an empty directory, to Ready",
            seconds(pair.ours),
            f"Python importing the same libraries {seconds(pair.plain)}",
            f"{pair.ratio:.1f} times",
            "1.0 s (0.5 s)",
            statistics.median(pair.ours) <= 1.0,
        ),
        Figure(
            "API, node and operator: one process, resident",
            f"{resident:.0f} MiB",
            "",
            "",
            "120 MB",
            resident * 2**20 <= 120e6,
        ),
    )
