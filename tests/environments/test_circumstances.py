"""Which changes of the machine start a retry of a failed build."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.environments.circumstances import BuildCircumstances


def circumstances_of(home: Path) -> BuildCircumstances:
    (home / "bin").mkdir(exist_ok=True)
    (home / "libraries").mkdir(exist_ok=True)
    return BuildCircumstances({"PATH": f"{home}/bin", "LD_LIBRARY_PATH": f"{home}/libraries"}, home)


def put(place: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path.parent, ns=(0, 0))  # another mtime, as the clock of file systems is coarse

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
    reader = circumstances_of(tmp_path)
    before = reader.read()
    assert reader.read() == before
    put(place)(tmp_path)
    assert reader.read() != before


def test_an_unrelated_change_is_ignored(tmp_path: Path) -> None:
    reader = circumstances_of(tmp_path)
    before = reader.read()
    put("thesis/chapter-1.txt")(tmp_path)
    assert reader.read() == before
