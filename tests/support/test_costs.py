"""What a run has cost is told by file, the dearest first, and what has grown since the last commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.costs import explain_costs, read_cpu_seconds

SPENT = {f"tests/test_{number}.py": float(number) for number in range(1, 13)}


def test_the_ten_dearest_files_are_told_and_those_that_have_grown() -> None:
    before = {"tests/test_12.py": 7.5, "tests/test_11.py": 10.9, "tests/test_2.py": 1.2, "tests/test_1.py": 0.1}
    lines = explain_costs(SPENT, before)
    assert lines[0] == "78 CPU seconds, of which 75 in the dearest files:"
    assert (lines[1], lines[10]) == ("   12.0  tests/test_12.py", "    3.0  tests/test_3.py")
    assert lines[11:] == ["since the last commit: 7.5 -> 12.0  tests/test_12.py"]


def test_a_short_run_says_nothing() -> None:
    assert explain_costs({"tests/test_1.py": 59.0}, {}) == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_the_seconds_of_a_child_are_those_of_its_test(tmp_path: Path, workers: str) -> None:
    burn = "import time\\nwhile time.process_time() < 0.3: pass"
    (tmp_path / "test_dear.py").write_text(
        f"import subprocess, sys\ndef test_it(): subprocess.run([sys.executable, '-c', '{burn}'])\n"
    )
    (tmp_path / "conftest.py").write_text("import support.costs as costs\ncosts._LEAST_SECONDS = 0.2\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_ADDOPTS": ""}
    words = ("-p", "support.costs", "-p", "no:randomly", "-q", "-n", workers)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path)],
        env=environment, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    (line,) = (line.split() for line in ended.stdout.splitlines() if line.endswith("  test_dear.py"))
    assert 0.3 <= float(line[0]) < 5, ended.stdout


def test_seconds_of_the_cpu_are_those_of_this_process() -> None:
    before = read_cpu_seconds()
    while read_cpu_seconds() - before < 0.02:
        pass
