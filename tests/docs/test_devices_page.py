"""docs/devices.md says what the table of devices says, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paddock.environments.packages.devices import DEVICES, find_device, is_part

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENDS = [".md", ".zh-CN.md"]


def read_rows(end: str) -> list[list[str]]:
    lines = (DOCS / f"devices{end}").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


@pytest.mark.parametrize("end", ENDS)
def test_the_matrix_of_the_page_is_the_table(end: str) -> None:
    rows = {row[0]: row for row in read_rows(end) if len(row) == 6}
    for device in DEVICES:
        _, modes, windows, variable, packages, index = rows[device.name]
        assert modes == "/".join(device.modes)
        assert (windows in ("one machine", "单机")) == device.windows
        assert variable.strip("`") == device.variable
        assert tuple(re.findall("`([^`]+)`", packages)) == device.packages
        assert index.strip("`") == (device.index or "PyPI")


@pytest.mark.parametrize("end", ENDS)
def test_each_name_of_the_page_stands_for_its_device(end: str) -> None:
    rows = [row for row in read_rows(end) if len(row) == 3]
    named = [
        (row[0], name, place) for row in rows[1:] for place in (1, 2) for name in re.findall("`([^`]+)`", row[place])
    ]
    assert len(named) > 15
    for device, name, place in named:
        found = find_device(name)
        assert found is not None and found.name == device, name
        assert is_part(name) == (place == 2), name
