"""What differs in a sandbox is marked `sandbox`: without the mark CI would run it without bubblewrap alone."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.order import read_marks
from support.sandboxes import ONE_SANDBOX, SANDBOXES

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
_HALF = re.compile(r"\[(.*-)?bubblewrap(-.*)?\]$")
"""The end of the name of a test that has bubblewrap as a parameter, of its own or of a fixture."""
_STARTS_NOTHING = ("tests/cli/cluster/test_started.py::",)
"""There it is a text that is printed."""


def test_each_half_has_the_mark() -> None:
    halves = [*SANDBOXES, *ONE_SANDBOX.args[1]]
    assert len(halves) == 3
    assert all("sandbox" in [mark.name for mark in half.marks] for half in halves)


@pytest.mark.parametrize(
    "words",
    [
        ["tests/node/runtime/test_what_programs_find.py", "tests/cli/cluster/test_started.py"],
        pytest.param(["tests"], marks=pytest.mark.slow),
    ],
    ids=["of a fixture with another name", "of all tests"],
)
def test_no_half_is_without_the_mark(words: list[str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:randomly", "-m", "not sandbox", *words]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    names = ended.stdout.splitlines()
    assert any(name.startswith(_STARTS_NOTHING) for name in names), "what starts no container is no half"
    assert [name for name in names if _HALF.search(name) and not name.startswith(_STARTS_NOTHING)] == []


def list_unmarked(text: str) -> Iterator[str]:
    """The functions of a module that may not do without bubblewrap, and have neither the mark nor a sandbox as their
    parameter."""
    if "sandbox" in read_marks(text):
        return
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _needs_bubblewrap(node):
            marked = re.search(r"SANDBOX|mark\.sandbox", " ".join(map(ast.unparse, node.decorator_list)))
            if not marked and "sandbox" not in [each.arg for each in node.args.args]:
                yield node.name


def _needs_bubblewrap(node: ast.AST) -> bool:
    calls = (ast.unparse(each) for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(re.match(r"need_bubblewrap\(|need_sandbox\((?!'none'\))|(need|lack)\('bwrap'", call) for call in calls)


def test_what_needs_bubblewrap_has_the_mark() -> None:
    """Where bubblewrap is hidden it is skipped, and elsewhere CI runs what has the mark alone."""
    paths = [path for name in ("test_*.py", "conftest.py") for path in TESTS.rglob(name)]
    texts = {path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    reading = {name: text for name, text in texts.items() if re.search(r"need_sandbox|need_bubblewrap|bwrap", text)}
    assert reading
    assert {name: found for name, text in reading.items() if (found := [*list_unmarked(text)])} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def test_it():\n    need_bubblewrap()", ["test_it"]),
        ("async def test_it():\n    async with open_cluster(need_sandbox('bubblewrap')): ...", ["test_it"]),
        ("@pytest.fixture\ndef wrapped(): need('bwrap')", ["wrapped"]),
        ("@pytest.mark.sandbox\ndef test_it(): need('bwrap')", []),
        ("pytestmark = pytest.mark.sandbox\ndef test_it(): need('bwrap')", []),
        ("@pytest.fixture(params=SANDBOXES)\ndef sandbox(request): return need_sandbox(request.param)", []),
        ("@pytest.fixture\ndef other(sandbox): return need_sandbox(sandbox)", []),
        ("def test_it(): need_sandbox('none')", []),
    ],
)
def test_who_needs_bubblewrap_is_read(text: str, found: list[str]) -> None:
    assert [*list_unmarked(text)] == found
