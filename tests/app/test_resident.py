"""A process that stays has loaded, when it begins to serve, all that it may import later."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import paddock

SOURCE = Path(paddock.__file__).parent
ROOMS = ("client", "controllers", "jobs", "kube", "manifests", "operator", "words")
"""They run in every process that stays, and in short commands, for which they import late."""
STAYING = ("local", "consoles.cluster")
ALSO = ("cluster", "webhook", "consoles.local")


def find_late_imports() -> Iterator[str]:
    """The modules of Paddock that a function of these rooms imports."""
    for path in sorted(each for room in ROOMS for each in (SOURCE / room).rglob("*.py")):
        functions = (each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, FUNCTIONS))
        for node in (inner for function in functions for inner in ast.walk(function)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("paddock."):
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                yield from [each for each in inside if find_file(each)] or [node.module]


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def find_file(module: str) -> bool:
    path = SOURCE.parent.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


@pytest.fixture(scope="module")
def late() -> frozenset[str]:
    return frozenset(find_late_imports())


def test_late_imports_are_found(late: frozenset[str]) -> None:
    assert {"paddock.jobs.apis.kubeflow_spec", "paddock.jobs.causes"} <= late


@pytest.mark.parametrize("process", [*STAYING, *(pytest.param(each, marks=pytest.mark.slow) for each in ALSO)])
def test_a_process_that_stays_imports_nothing_of_paddock_later(process: str, late: frozenset[str]) -> None:
    code = f"import sys, paddock.app.{process}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    later = sorted(late - set(loaded))
    assert not later, f"name these in app/resident.py: {', '.join(later)}"
