"""A missing program has one line in the summary, whatever the number of tests and workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.programs import need

TESTS = """
import pytest
from support.programs import lack, need

@pytest.fixture
def program():
    return need("no-such-program")

@pytest.mark.parametrize("number", range(3))
def test_with_a_program(number, program): ...

def test_alone():
    lack("bwrap", "does not work here: Permission denied")

@pytest.mark.parametrize("number", range(2))
def test_otherwise(number):
    pytest.skip("this machine has GPUs")

@pytest.mark.skipif(True, reason="of a mark")
def test_marked(): ...

@pytest.mark.skip("needs bubblewrap (bwrap), which is not installed")
def test_marked_with_a_program(): ...

def test_fails():
    assert False, "a failure keeps its line"
"""
LINES = [
    "skipped: 3 tests need no-such-program, which is not installed",
    "skipped: 2 tests: this machine has GPUs",
    "skipped: 2 tests need bubblewrap (bwrap), which does not work here: Permission denied, or is not installed",
    "skipped: 1 test: of a mark",
]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_the_summary_has_one_line_for_each_program_and_each_other_reason(tmp_path: Path, workers: int) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    plugins = ("-p", "support.skips", "-p", "no:cacheprovider", "-p", "no:randomly")
    words = ("-q", "-rfEX", "-n", str(workers), *plugins, str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    lines = ended.stdout.splitlines()
    assert sorted(line for line in lines if line.startswith("skipped: ")) == sorted(LINES), ended.stdout
    assert "SKIPPED" not in ended.stdout
    assert any("a failure keeps its line" in line for line in lines if line.startswith("FAILED ")), ended.stdout


def test_a_program_that_is_there_is_found_by_its_path() -> None:
    assert Path(need("sh")).is_file()
