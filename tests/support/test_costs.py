"""What a run has cost is told by file, the dearest first, and what has grown since the last commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.costs import add_call, explain_costs, explain_rooms, read_allowed, read_cpu_seconds, sum_rooms

SPENT = {f"tests/test_{number}.py": float(number) for number in range(1, 13)}


def test_the_ten_dearest_files_are_told_and_those_that_have_grown() -> None:
    before = {"tests/test_12.py": 7.5, "tests/test_11.py": 10.9, "tests/test_2.py": 1.2, "tests/test_1.py": 0.1}
    lines = explain_costs(SPENT, before)
    assert lines[0] == "78 CPU seconds, of which 75 in the dearest files:"
    assert (lines[1], lines[10]) == ("   12.0  tests/test_12.py", "    3.0  tests/test_3.py")
    assert lines[11:] == ["since the last commit: 7.5 -> 12.0  tests/test_12.py"]


def test_a_short_run_says_nothing() -> None:
    assert explain_costs({"tests/test_1.py": 59.0}, {}) == []


def test_the_seconds_of_a_room_are_those_of_its_files() -> None:
    files = {"cli/test_get.py": 1.5, "cli/script/test_a.py": 2.0, "jobs/test_b.py": 4.0, "test_c.py": 8.0}
    assert sum_rooms({f"tests/{path}": seconds for path, seconds in files.items()}) == {"cli": 3.5, "jobs": 4, "top": 8}


@pytest.mark.parametrize(
    ("seconds", "allowed", "told"),
    [
        (130.0, {"cli": 100.0}, True),
        (125.0, {"cli": 100.0}, False),  # a quarter
        (3.0, {"cli": 1.0}, False),  # two seconds
        (3.1, {"cli": 1.0}, True),
        (99.0, {"jobs": 1.0}, False),  # a room without a number
    ],
)
def test_a_room_that_takes_more_than_its_number_is_told(seconds: float, allowed: dict[str, float], told: bool) -> None:
    lines = explain_rooms({"cli": seconds}, allowed)
    assert len(lines) == told
    assert all(line.startswith(f"tests/cli took {seconds:.0f} CPU seconds, and house.toml has ") for line in lines)


def test_the_call_that_ends_last_has_the_seconds_of_both(tmp_path: Path) -> None:
    assert add_call(tmp_path / "costs", "pure", {"cli": 1.0, "jobs": 2.0}) == {}
    assert add_call(tmp_path / "costs", "waiting", {"cli": 4.0}) == {"cli": 5.0, "jobs": 2.0}


@pytest.mark.parametrize(
    ("text", "allowed"), [("[cpu]\ncli = 1.5\n", {"cli": 1.5}), ("[lines]\ncli = 1\n", {}), ("[cpu", {}), (None, {})]
)
def test_the_number_of_a_room_stands_in_the_file(tmp_path: Path, text: str | None, allowed: dict[str, float]) -> None:
    if text is not None:
        (tmp_path / "house.toml").write_text(text)
    assert read_allowed(tmp_path) == allowed


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
