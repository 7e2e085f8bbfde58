"""Environments that a user has beside Paddock's: an activated one, and those that uv, Poetry and others manage.

A command of such a manager (`uv run train.py`) trains in what it manages, with the programs of the shell that typed it.
Any other environment is left alone, and that is said where the user may take it for the one that trains.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from paddock.cli.submit.named_files import read_named
from paddock.environments.project_files import list_named, read_project_file
from paddock.environments.requirements import requirement_name
from paddock.launches.launch import Launch
from paddock.script.source import LARGEST
from paddock.words.phrases import Phrase, phrase

_LOCKS = {"uv.lock": "uv run", "poetry.lock": "poetry run", "pdm.lock": "pdm run", "Pipfile.lock": "pipenv run",
          "pixi.lock": "pixi run"}  # fmt: skip
"""The file of a manager -> the command that runs a program in what it names."""
_FILES = ("pyproject.toml", "environment.yml", "environment.yaml", "Pipfile")
_THERE = frozenset({"torch", "numpy", "paddlepaddle", "setuptools"})
"""Packages that environments of a framework have."""
_PACKAGES = {"paddle": "paddle", "pytorch": "torch"}
"""Framework -> the directory of its package."""


def find_manager(launches: Iterable[Launch]) -> str:
    """The manager in whose environment all Python programs of a command run; empty without one."""
    found = []
    for launch in launches:
        managers = [each.spec.name for each in launch.wrappers if each.spec.manages]
        if managers or launch.program.python or launch.launcher is not None:
            found.append(managers[0] if managers else "")
    return found[0] if found and all(found) else ""


def explain_unused(
    words: Sequence[str], framework: str, directory: Path, environ: Mapping[str, str]
) -> Iterator[Phrase]:
    """The environments that do not train, of a job in an environment of its framework, with the way to each."""
    package = _PACKAGES.get(framework, "")
    active = Path(environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX") or "/nowhere")
    if package and any(active.glob(f"lib/python*/site-packages/{package}/__init__.py")):
        yield phrase(
            "the active environment {directory} has {package} and does not train: the job has an environment of its "
            "own; `--image python:3` trains with the programs of this shell",
            directory=str(active), package=package,
        )  # fmt: skip
    for file, command in _LOCKS.items() if package else ():
        if (directory / file).is_file():
            yield phrase(
                "the packages of {file} are not installed for it: `paddock run -- {command}` trains with them",
                file=file, command=f"{command} {shlex.join(words)}",
            )  # fmt: skip
            return
    yield from _explain_files(directory) if package else ()


def _explain_files(directory: Path) -> Iterator[Phrase]:
    """Files of other managers, which are not taken unasked, as they may be for another program than this one."""
    for name in _FILES:
        text = (read_named(directory / name, LARGEST) or b"").decode(errors="replace")
        found = read_project_file(name, text) if text else None
        if isinstance(found, list) and set(map(requirement_name, found)) - _THERE:
            yield phrase("the packages of {file} are not installed for it: `-r {file}` installs them", file=name)
        elif isinstance(found, Phrase) and (not name.endswith(".toml") or any(list_named(text))):
            yield phrase("the packages of {file} are not installed for it: {why}", file=name, why=found)


def explain_taken(file: str) -> Phrase:
    """What is said of a requirements.txt that nobody named."""
    return phrase("{file} is here: its packages are installed for the job (`-r none` leaves them out)", file=file)


def explain_two(manager: str) -> Phrase:
    """What is said of -r beside a manager."""
    return phrase(
        "warning: {manager} trains in an environment of its own, in which the packages of -r are not: leave -r out, or "
        "leave {manager} out",
        manager=manager,
    )
