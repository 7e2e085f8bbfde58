"""What is said does not depend on the machine's own clock, nor on its time zone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from net.asking import type_command, variables
from net.place import Record, serve

YEARS = (1_577_836_800.0, 2_524_608_000.0)
"""2020 and 2050: no certificate of the one is valid in the other, nor now."""


@pytest.mark.parametrize("now", YEARS)
def test_a_place_of_any_year_answers(now: float, tmp_path: Path) -> None:
    with serve(tmp_path / "home", Record([], [], now)) as served:
        said = type_command(served, "en", "get", "-A")
    assert said.requests
    assert said.text == "! no jobs"


def test_a_user_is_in_utc_wherever_this_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "EST+5")
    time.tzset()
    try:
        with serve(tmp_path / "home", Record([], [], YEARS[0])) as served, variables(served, "en"):
            assert time.localtime(0).tm_hour == 0
        assert time.localtime(0).tm_hour == 19
    finally:
        monkeypatch.undo()
        time.tzset()
