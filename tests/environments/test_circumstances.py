"""What counts as a change after which a failed build is worth another try."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.environments.circumstances import Surroundings


def look(home: Path) -> Surroundings:
    (home / "bin").mkdir(exist_ok=True)
    (home / "libraries").mkdir(exist_ok=True)
    return Surroundings({"PATH": f"{home}/bin", "LD_LIBRARY_PATH": f"{home}/libraries"}, home)


def put(place: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path.parent, ns=(0, 0))  # as if much later: file systems count time in steps

    return change


@pytest.mark.parametrize(
    "place",
    [
        "bin/python3.13",
        "libraries/libgomp.so.1",
        ".config/pip/pip.conf",
        ".config/uv/uv.toml",
        ".netrc",
    ],
)
def test_a_change_is_seen(tmp_path: Path, place: str) -> None:
    around = look(tmp_path)
    before = around.read()
    assert around.read() == before
    put(place)(tmp_path)
    assert around.read() != before


def test_what_has_nothing_to_do_with_it_is_no_change(tmp_path: Path) -> None:
    around = look(tmp_path)
    before = around.read()
    put("thesis/chapter-1.txt")(tmp_path)
    assert around.read() == before
