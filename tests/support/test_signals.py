"""Tests that are started with signals ignored give them to no program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import signal, subprocess

def test_a_program_ignores_nothing():
    status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
    (ignored,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn:")]
    assert [each for each in signal.valid_signals() if ignored >> each - 1 & 1] == []

def test_asyncio_finds_the_handlers_that_it_knows():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

def test_a_hangup_ends_no_test():
    signal.raise_signal(signal.SIGHUP)
"""
DEAF = "trap '' HUP INT QUIT TERM USR1; exec \"$@\""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_an_ignored_signal_reaches_the_programs_of_tests(tmp_path: Path, workers: int) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    plugins = ("-p", "support.signals", "-p", "no:cacheprovider", "-p", "no:randomly")
    words = (sys.executable, "-m", "pytest", "-q", "-n", str(workers), *plugins, str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(
        ["sh", "-c", DEAF, "sh", *words], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr
