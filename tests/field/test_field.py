"""What people really bring is answered as it is to be (`cases.yaml`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import fork_server

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[f"{case['kind']}: {case['what']}" for case in CASES])
def test_what_people_bring_is_answered(case: dict[str, Any], tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for name, text in case["files"].items():
        (place / name).write_text(text)
    environment = {**os.environ, "PADDOCK_HOME": str(tmp_path / "home"), "COLUMNS": "400", "NO_COLOR": "1"}
    ended = fork_server.run(case["run"], environment, 60, str(place))
    printed = " ".join((ended.stdout + ended.stderr).split())
    missing = [each for each in case.get("says", ()) if each not in printed]
    found = [each for each in case.get("never", ()) if each in printed]
    assert (ended.returncode, missing, found) == (case["exit"], [], []), printed
