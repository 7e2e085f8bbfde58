"""The packages that a user names beside a program: in the file of -r, else in the directory's own files.

They tell which framework trains where the program does not (`make train`). Only the file of -r is installed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paddock.environments.requirement_files import read_requirements
from paddock.environments.requirements import requirement_name
from paddock.script.libraries import find_module
from paddock.script.source import LARGEST


def read_named_modules(requirements: Path | None, directory: Path) -> frozenset[str]:
    """The modules of the packages of `requirements`; without it of pyproject.toml and requirements.txt of `directory`.
    A file that cannot be read tells nothing: whoever installs it says why."""
    if requirements is not None:
        return _find_modules(_read_file(requirements))
    here = directory / "requirements.txt"
    named = [*read_project(_read(directory / "pyproject.toml")), *(_read_file(here) if here.is_file() else ())]
    return _find_modules(iter(named))


def _find_modules(packages: Iterator[str]) -> frozenset[str]:
    return frozenset(find_module(requirement_name(each)) for each in packages)


def _read_file(path: Path) -> Iterator[str]:
    if path.suffix == ".toml":
        return read_project(_read(path))
    return iter(read_requirements(str(path), lambda name: _read(Path(name))).packages)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST).decode(errors="replace")
    except OSError:
        return ""


def read_project(text: str) -> Iterator[str]:
    """The requirements of a pyproject.toml: of the project, its extras and groups, and Poetry's. Pure."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project, poetry = _table(found, "project"), _table(found, "tool", "poetry")
    yield from _texts(project.get("dependencies"))
    for groups in (_table(project, "optional-dependencies"), _table(found, "dependency-groups")):
        for group in groups.values():
            yield from _texts(group)
    tables = [poetry, *(each for each in _table(poetry, "group").values() if isinstance(each, Mapping))]
    for table in tables:
        yield from (name for name in _table(table, "dependencies") if name != "python")


def _table(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for key in path:
        inner = value.get(key)
        value = inner if isinstance(inner, Mapping) else {}
    return value


def _texts(value: object) -> Iterator[str]:
    yield from (each for each in (value if isinstance(value, list) else []) if isinstance(each, str))
