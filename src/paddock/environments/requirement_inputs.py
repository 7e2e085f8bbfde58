"""Writes what uv is told of requirements: the files that its `pip compile` and `pip install` read. I/O."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paddock.environments.definition import Definition

_FLAGS = {"--pre": ("--prerelease", "allow")}
"""Options of files that uv takes as its own alone."""


def write_inputs(directory: Path, definition: Definition, extra: Sequence[str] = ()) -> list[str]:
    """uv's words for the requirements, and `extra`; a constraint by a URL is an option of the first file."""
    limits = [each[3:] for each in definition.options if each.startswith("-c ") and "://" not in each]
    wanted, constraints = directory / "requirements.in", directory / "constraints.in"
    wanted.write_text(_join((*list_options(definition), *definition.packages, *extra)))
    flags = [flag for option in definition.options for flag in _FLAGS.get(option, ())]
    if not limits:
        return [*flags, str(wanted)]
    constraints.write_text(_join(limits))
    return [*flags, "--constraints", str(constraints), str(wanted)]


def list_options(definition: Definition) -> list[str]:
    """The options that uv reads in a file."""
    return [
        each
        for each in definition.options
        if each not in _FLAGS and not each.startswith("#") and ("://" in each or not each.startswith("-c "))
    ]


def add_to_exact(exact: Path, definition: Definition) -> None:
    """Gives a file that uv has resolved the options that it leaves out, and the hashes of the user's own."""
    hashes = {name.strip(): f" --hash{rest}" for each in definition.packages
              for name, found, rest in [each.partition(" --hash")] if found}  # fmt: skip
    lines = [f"{each}{hashes.get(each, '')}" for each in exact.read_text().splitlines()]
    exact.write_text(_join((*list_options(definition), *lines)))


def _join(lines: Sequence[str]) -> str:
    return "".join(f"{each}\n" for each in lines)
