"""Each mutant of the server is caught by the case that is about what it changes: the corpus sees such faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apiserver.conformance.corpus import CASES
from apiserver.conformance.mutants import MUTANTS


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MUTANTS)), ids=lambda number: MUTANTS[number].case)
def test_a_mutant_is_caught(number: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "apiserver.conformance.mutants", str(number), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout), f"the case does not see {MUTANTS[number]}"


def test_each_mutant_changes_a_text_that_is_there() -> None:
    assert 40 <= len(MUTANTS) == len({(each.module, each.old) for each in MUTANTS})
    for mutant in MUTANTS:
        assert mutant.change() != mutant.path.read_text(encoding="utf-8")
        assert mutant.case in CASES, mutant
