"""Environments of the user's own: a manager's trains, any other is left alone and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.submit.script.own_environments import explain_unused, find_manager
from paddock.launches.reading import read_script
from paddock.words.phrases import render


@pytest.mark.parametrize(
    ("line", "manager"),
    [
        ("uv run train.py", "uv"),
        ("time poetry run python train.py", "poetry"),
        ("conda run -n mine torchrun train.py", "conda"),
        ("mkdir out; uv run a.py; uv run b.py", "uv"),
        ("python train.py", ""),
        ("uv run a.py; python b.py", ""),
        ("uv pip install torch", ""),
        ("make", ""),
    ],
)
def test_a_command_trains_in_what_its_manager_has(line: str, manager: str) -> None:
    assert find_manager(read_script(line).launches) == manager


def unused(directory: Path, framework: str = "pytorch", **environ: str) -> list[str]:
    return [render(each) for each in explain_unused(["python", "train.py"], framework, directory, environ)]


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_that_has_the_framework_is_named_with_the_way_to_it(
    variable: str, tmp_path: Path
) -> None:
    package = tmp_path / "venv/lib/python3.12/site-packages/torch"
    package.mkdir(parents=True)
    active = {variable: str(tmp_path / "venv")}
    assert unused(tmp_path, **active) == [], "it has no torch"
    (package / "__init__.py").touch()
    (said,) = unused(tmp_path, **active)
    assert f"{tmp_path}/venv has torch and does not train" in said and "`--image python:3`" in said
    assert unused(tmp_path, "paddle", **active) == [] and unused(tmp_path, "none", **active) == []
    assert unused(tmp_path) == []


@pytest.mark.parametrize(("lock", "command"), [("uv.lock", "uv run"), ("poetry.lock", "poetry run")])
def test_a_lock_of_a_manager_is_named_with_the_command_that_uses_it(lock: str, command: str, tmp_path: Path) -> None:
    (tmp_path / lock).touch()
    (said,) = unused(tmp_path)
    assert said.startswith(f"the packages of {lock} are not") and f"-- {command} python train.py`" in said
