"""The 37 defects of paddle-operator v0.3.5 that users met: the docstrings of the files here list each by its number and
the test that shows it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.glob("test_*.py"))
_LINE = re.compile(r"^ ?(\d+)  (test_\w+)$", re.MULTILINE)


def told(path: Path) -> list[tuple[int, str]]:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False) or ""
    return [(int(number), name) for number, name in _LINE.findall(text)]


def test_each_of_the_37_is_told_by_a_test() -> None:
    assert {number for path in FILES for number, _ in told(path)} == set(range(1, 38))


@pytest.mark.parametrize("path", [path for path in FILES if path.stem != "test_all"], ids=lambda path: path.stem)
def test_what_a_file_tells_is_what_it_tests(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tests = {
        each.name: ast.get_docstring(each) or ""
        for each in tree.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test_")
    }
    numbers: dict[str, set[str]] = {}
    for number, name in told(path):
        numbers.setdefault(name, set()).add(str(number))
    assert set(numbers) == set(tests)
    for name, docstring in tests.items():
        assert set(docstring.partition(":")[0].split(", ")) == numbers[name], name
