"""The README's two commands on bare Debian machines, as `tools/fresh/machine` makes them: seconds from the clone to a
trained model and to passed tests, with nothing there (bare) and once more (warm).

Beside the bare demo stands PaddlePaddle alone on the same machine: a venv, and pip's installation of the same version.
All three machines take about half an hour; root and debootstrap are needed, and a network that has Debian's packages.
PaddlePaddle has no wheels for sid's Python: its demo needs a network that has uv's Pythons (UV_PYTHON_INSTALL_MIRROR).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure

MACHINE = Path(__file__).parents[1] / "tools" / "fresh" / "machine"
SUITES = {"bookworm": "Debian 12, Python 3.11", "trixie": "Debian 13, Python 3.13", "sid": "Debian sid, Python 3.14"}

# Prints `NAME SECONDS EXITCODE` for each step.
_SCRIPT = """
step() {
  name=$1; shift; begun=$(date +%s.%N); code=0
  "$@" >/tmp/$name.log 2>&1 || { code=$?; tail -3 /tmp/$name.log >&2; }
  echo "$name $(echo "$(date +%s.%N) $begun" | awk '{print $1 - $2}') $code"
}
plain() { python3 -m venv /tmp/plain && /tmp/plain/bin/pip install -q --no-cache-dir paddlepaddle==3.0.0; }
again() { .venv/bin/paddock delete wide-ande-deep >/dev/null 2>&1; step demo-warm make demo; }
step plain plain
step demo-bare make demo; again
step test-bare make test; step test-warm make test
.venv/bin/paddock down >/dev/null 2>&1
"""


def measure() -> Sequence[Figure]:
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="fresh-") as directory:
        for suite, what in SUITES.items():
            figures += build_figures(what, run_machine(suite, Path(directory) / suite))
    return figures


def run_machine(suite: str, directory: Path) -> dict[str, float | None]:
    """Seconds of each step; None for one that failed."""
    # Making the machine is no part of what is measured.
    subprocess.run([MACHINE, suite, directory, "true"], check=True)
    ended = subprocess.run([MACHINE, suite, directory, _SCRIPT], stdout=subprocess.PIPE, text=True)
    steps = re.findall(r"^([a-z-]+) ([\d.]+) (\d+)$", ended.stdout, re.MULTILINE)
    return {name: float(seconds) if code == "0" else None for name, seconds, code in steps}


def build_figures(what: str, took: dict[str, float | None]) -> list[Figure]:
    """Of one machine."""
    ours, plain = took.get("demo-bare"), took.get("plain")
    more = f"+{ours - plain:.0f} s, {ours / plain:.2f} times" if ours and plain else ""
    if ours and not plain and os.environ.get("UV_PYTHON_INSTALL_MIRROR"):
        more = "with the Python that uv fetched from a mirror"
    alone = f"venv and `pip install paddlepaddle` {_say(plain)}"
    return [
        Figure(f"{what}: `make demo`, bare", _say(ours), alone, more, "told"),
        Figure("… again, warm", _say(took.get("demo-warm")), "", "", "told"),
        Figure(
            "… then `make test`, bare", _say(took.get("test-bare")), "", "", "300 s", _within(took.get("test-bare"))
        ),
        Figure("… again, warm", _say(took.get("test-warm")), "", "", "300 s", _within(took.get("test-warm"))),
    ]


def _say(seconds: float | None) -> str:
    return "failed" if seconds is None else f"{seconds:.0f} s"


def _within(seconds: float | None) -> bool:
    return seconds is not None and seconds <= 300
