"""Whose a missing module is, and in which environment and by which requirements file a rank runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.follow.missing_module import find_environment, find_own
from paddock.cli.output.requirement_lines import find_lines
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import KINDS


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("repo/mylib.py", "repo"),
        ("repo/mylib/__init__.py", "repo"),
        ("repo/app/src/mylib.py", "repo/app/src"),
        ("repo/app/.venv/mylib.py", ""),
        ("repo/mylib/data.txt", ""),
        ("repo/other.py", ""),
    ],
)
def test_a_module_of_ones_own_is_looked_for_around_the_working_directory(tmp_path: Path, file: str, found: str) -> None:
    (tmp_path / "repo/app").mkdir(parents=True)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("")
    assert find_own("mylib.sub", str(tmp_path / "repo/app")) == (str(tmp_path / found) if found else "")


def test_nothing_is_looked_for_without_a_working_directory() -> None:
    assert find_own("os", "") == "" and find_own("mylib", "/not/there") == ""


def test_the_environment_is_that_of_the_annotation_or_of_the_image() -> None:
    manifest = build_manifest()
    image = manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["image"]
    manifest["metadata"]["annotations"] = {"paddock.dev/environment": "paddle"}
    assert find_environment(KINDS[RESOURCE].read_job(manifest), "worker", list(build_defaults())) == (image, "paddle")
    manifest["metadata"]["annotations"] = {"paddock.dev/environment": "gone"}
    assert find_environment(KINDS[RESOURCE].read_job(manifest), "worker", list(build_defaults())) == (image, "")


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("environment x: spec.requirements: no package index here has no_such: check the name", ["4"]),
        (
            "spec.requirements (tiny==1.0, No-Such, numpy==9) cannot be met: Because there is no version of numpy==9",
            ["5"],
        ),
        ("the package index index.example, which the requirements name, did not answer: check the network", ["6"]),
        ("the package index links.example, which the requirements name, did not answer", ["7"]),
        ("the disk is full", []),
    ],
)
def test_the_builders_message_is_about_these_lines(tmp_path: Path, message: str, lines: list[str]) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(
        "tiny==1.0\n\n# numpy\nNo-Such\nnumpy==9\n-i https://me@index.example/x\nsix -f http://links.example\n"
    )
    assert find_lines([str(file), "/not/there"], message) == [f"{file}:{line}" for line in lines]
