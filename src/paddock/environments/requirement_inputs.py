"""Writes what uv is told of requirements: the files that its `pip compile` and `pip install` read. I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from paddock.environments.definition import Definition
from paddock.environments.failures import BuildFailed, redact
from paddock.environments.requirements import requirement_name
from paddock.words.phrases import phrase

_FLAGS = {"--pre": ("--prerelease", "allow")}
"""Options of files that uv takes as its own alone."""
_HASH = re.compile(r"\s(--hash[=\s]\S+)")
_PINNED = re.compile(r"==\s*v?([\d.]*\d)(?!\.?[\d*])")


def write_inputs(directory: Path, definition: Definition, extra: Sequence[str] = ()) -> list[str]:
    """uv's words for the requirements, and `extra`; a constraint by a URL is an option of the first file."""
    limits = _list_limits(definition)
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
    """Gives a file that uv has resolved the options that it leaves out, and the hashes of the user's own. Raises
    `BuildFailed` where a hash is of no package in it, as nothing is installed unverified."""
    lines = exact.read_text().splitlines()
    _refuse_lost(definition.packages, lines)
    own = (*definition.packages, *_list_limits(definition))
    exact.write_text(_join((*list_options(definition), *(_add_hashes(each, own) for each in lines))))


def _refuse_lost(packages: Sequence[str], lines: Sequence[str]) -> None:
    """A package that has a marker is not for this platform where it is missing."""
    names = set(map(requirement_name, lines))
    for each in packages:
        if _HASH.search(each) and ";" not in each and requirement_name(each) not in names:
            said = phrase(
                "{found} has a hash, and no package of that name is to be installed: write it as NAME==VERSION or as "
                "NAME @ URL, so that the hash is checked",
                found=redact(_HASH.sub("", each)),
            )  # fmt: skip
            raise BuildFailed(said)


def _add_hashes(line: str, own: Sequence[str]) -> str:
    """uv writes names, versions, markers and extras in its own way, so that texts are not compared."""
    found = (hashed for each in own if _is_same(each, line) for hashed in _HASH.findall(each))
    return " ".join((line, *dict.fromkeys(found)))


def _is_same(own: str, line: str) -> bool:
    """Whether a requirement is that of a resolved line. Another version behind a marker is another platform's."""
    pinned, resolved = _read_release(own), _read_release(line)
    is_other = ";" in own and pinned and resolved and pinned != resolved
    return requirement_name(own) == requirement_name(line) and not is_other


def _read_release(text: str) -> str:
    """`Six == 1.16.0rc1 ; …` -> `1.16`; empty where no version is pinned."""
    found = _PINNED.search(text.partition(";")[0])
    return re.sub(r"\b0+(?=\d)|(\.0+)+$", "", found[1]) if found else ""


def _list_limits(definition: Definition) -> list[str]:
    return [each[3:] for each in definition.options if each.startswith("-c ") and "://" not in each]


def _join(lines: Sequence[str]) -> str:
    return "".join(f"{each}\n" for each in lines)
