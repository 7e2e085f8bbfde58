"""A program that was not found in a job without a working directory."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.model import CauseRecord
from paddock.views.missing_scripts import lacks_directory
from paddock.views.stored import read_stored
from support.consoles import PADDLE
from support.written import build_written_job

PYTHON = "python: can't open file '/tmp/scratch/x/train.py': [Errno 2] No such file or directory"


@pytest.mark.parametrize(
    ("args", "directory", "lacks"),
    [
        ({"last": PYTHON}, "", True),
        ({"error": PYTHON}, "", True),
        ({"last": "bash: train.sh: No such file or directory"}, "", True),
        ({"last": "sh: 0: cannot open train.sh: No such file"}, "", True),
        ({"last": PYTHON}, "/code", False),  # it has one, so another is wrong
        ({"last": "ValueError: no room"}, "", False),
        ({"error": "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"}, "", False),
        ({"last": PYTHON, "code": None}, "", False),  # nobody failed
        ({"last": PYTHON, "ranks": ["<b>-0"]}, "", False),
    ],
)
def test_a_program_is_not_found_for_want_of_a_directory(args: dict[str, Any], directory: str, lacks: bool) -> None:
    manifest = build_written_job()
    if directory:
        manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["workingDir"] = directory
    cause = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 2, **args}, 1.0)
    assert lacks_directory(cause, read_stored(PADDLE, manifest).job) is lacks


def test_without_a_cause_or_a_job_nothing_is_lacking() -> None:
    assert not lacks_directory(None, None)
    assert not lacks_directory(CauseRecord("RankFailed", {"ranks": ["worker-0"], "code": 2, "last": PYTHON}, 1.0), None)
