"""What people really bring (tests/field/cases.yaml): how many of each kind are answered as they are to be, and how many
were before commands were read as a shell reads them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.figures import Figure

CASES = Path(__file__).parents[1] / "tests" / "field" / "cases.yaml"


def measure() -> Sequence[Figure]:
    cases: list[Mapping[str, Any]] = yaml.safe_load(CASES.read_text())
    kinds = dict.fromkeys(str(case["kind"]) for case in cases)
    return [_count(kind, [case for case in cases if case["kind"] == kind]) for kind in kinds]


def _count(kind: str, cases: Sequence[Mapping[str, Any]]) -> Figure:
    right = sum(is_right(case) for case in cases)
    before = sum(case.get("before") == "right" for case in cases)
    said = f"{right} of {len(cases)} right"
    return Figure(kind, said, f"{before} before", f"{right - before:+d}", "all", right == len(cases))


def is_right(case: Mapping[str, Any]) -> bool:
    """Whether `paddock`, called in a directory with the files of the case, ends and answers as the case says."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "place"
        place.mkdir()
        for name, text in case["files"].items():
            (place / name).write_text(text)
        ended = subprocess.run(
            [str(Path(sys.executable).with_name("paddock")), *case["run"]],
            cwd=place,
            env={**os.environ, "PADDOCK_HOME": f"{directory}/home", "COLUMNS": "400", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    printed = " ".join((ended.stdout + ended.stderr).split())
    says = all(each in printed for each in case.get("says", ()))
    return ended.returncode == case["exit"] and says and not any(each in printed for each in case.get("never", ()))
