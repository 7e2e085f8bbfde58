"""Files of others, in the console's pages and in its tests: each is in the table, and is what the table says."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from paddock.console.pages import STATIC

OF_TESTS = Path(__file__).parents[1] / "browser" / "vendor"


def read_table(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads((folder / "VENDORED.toml").read_text())["file"]
    return rows


@pytest.mark.parametrize("folder", [STATIC, OF_TESTS], ids=["console", "tests"])
def test_each_file_of_others_has_the_hash_of_the_table(folder: Path) -> None:
    table = read_table(folder)
    found = {path.name: path for path in folder.glob("*.min.*")}  # ours are not minified
    assert {row["name"] for row in table} == set(found)
    for row in table:
        assert hashlib.sha512(found[row["name"]].read_bytes()).hexdigest() == row["sha512"], row["name"]
        assert row["version"] in row["url"] and row["integrity"].startswith("sha512-")


def test_each_licence_stands_beside_the_files() -> None:
    said = (STATIC / "LICENCES.txt").read_text()
    assert all(row["name"] in said for row in read_table(STATIC))
    assert "Mozilla Public License" in (OF_TESTS / "axe-LICENSE.txt").read_text()
