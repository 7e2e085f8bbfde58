"""The tables of threats: each row says who tries what and what stops it, and each names the test that tries it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/security.md", "docs/operations/security.md")
TITLES = ("## Who might try what", "## 谁可能做什么")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def read_rows(page: str) -> list[list[str]]:
    """The cells of the table of threats, without its head."""
    text = (ROOT / page).read_text()
    (title,) = [each for each in TITLES if each in text]
    section = text.split(title, 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


@cache
def read_tests(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(name for name in found if name.startswith("test_"))


@pytest.mark.parametrize("page", PAGES)
def test_each_threat_has_who_what_a_stop_and_its_test(page: str) -> None:
    rows = read_rows(page)
    assert len(rows) >= 10
    for row in rows:
        assert len(row) == 4, row
        assert all(row), row
        named = _TEST.findall(row[3])
        assert named and len(named) == row[3].count("`") // 2, row
        for path, name in named:
            assert name in read_tests(path), (path, name)


@pytest.mark.parametrize("page", PAGES)
def test_the_chinese_page_has_the_same_threats(page: str) -> None:
    chinese = read_rows(page.replace(".md", ".zh-CN.md"))
    assert [row[3] for row in chinese] == [row[3] for row in read_rows(page)]
