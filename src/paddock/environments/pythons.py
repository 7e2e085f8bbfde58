"""Chooses the Python interpreter of an environment: one of this machine, preferably the one that runs Paddock.

The choice is pure; `fetch_pythons` lists the interpreters with uv. If none suits, `managed_pythons` downloads one.
Specifiers are those of `requires-python` (PEP 440), for releases only: `>=3.9,<3.14`, `==3.11.*`, `~=3.11`.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.environments.terminal import read_output
from paddock.words.phrases import Phrase, phrase

Version = tuple[int, ...]

SPECIFIER_PATTERN = r"^\s*((>=|<=|==|!=|~=|<|>)\s*\d+(\.\d+){0,2}(\.\*)?\s*(,\s*|$))*$"
"""For the CRD's schema; `match_version` accepts all that matches."""

# A range without an end below this is "or later".
_LATEST_MINOR = 60


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter: its executable (of the base installation, not of a venv) and its version."""

    path: Path
    version: Version

    @property
    def short(self) -> str:
        return ".".join(str(part) for part in self.version[:2])


def match_version(specifier: str, version: Version) -> bool:
    """Whether the version matches all terms. Raises `ValueError` with the invalid term."""
    return all(_match_term(term.strip(), version) for term in specifier.split(",") if term.strip())


def _match_term(term: str, version: Version) -> bool:
    match = re.fullmatch(r"(>=|<=|==|!=|~=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?", term)
    if match is None:
        raise ValueError(f'"{term}" is no version specifier: a comparison and a version, such as >=3.9')
    operator, wanted = match[1], tuple(int(part) for part in match[2].split("."))
    if operator == "~=":
        return _pad(version) >= _pad(wanted) and version[: len(wanted) - 1] == wanted[:-1]
    if match[3]:
        alike = version[: len(wanted)] == wanted
        return alike if operator == "==" else not alike
    return _COMPARE[operator](_pad(version), _pad(wanted))


_COMPARE: Mapping[str, Callable[[Version, Version], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _pad(version: Version) -> Version:
    return (*version, 0, 0, 0)[:3]


def choose_python(specifier: str, candidates: Sequence[Python]) -> Python | None:
    """The first matching candidate, or None; callers put the preferred one first."""
    return next((each for each in candidates if match_version(specifier, each.version)), None)


def explain_range(specifier: str) -> Phrase | str:
    """`>=3.9,<3.14` -> `Python 3.9 to 3.13`."""
    minors = [minor for minor in range(_LATEST_MINOR) if _allows_minor(specifier, minor)]
    if not minors or minors != list(range(minors[0], minors[-1] + 1)):
        return f"Python {specifier}"
    first, last = minors[0], minors[-1]
    if last == _LATEST_MINOR - 1:
        return phrase("Python {version} or later", version=f"3.{first}") if first else phrase("any Python")
    if first == last:
        return f"Python 3.{first}"
    return phrase("Python {first} to {last}", first=f"3.{first}", last=f"3.{last}")


def _allows_minor(specifier: str, minor: int) -> bool:
    return any(match_version(specifier, (3, minor, patch)) for patch in (0, 50))


def explain_unsuitable(subject: str, specifier: str, found: Sequence[Python]) -> Phrase:
    """`Python 3.14 is too new for paddlepaddle 3.0.0`: why none of this machine's interpreters suits."""
    versions = sorted({each.version[:2] for each in found})
    if not versions:
        return phrase("no Python was found for {subject}", subject=subject)
    low, high = (compare_to_range(specifier, version) for version in (versions[0], versions[-1]))
    if low == high == 1:
        return phrase("Python {version} is too new for {subject}", version=_dotted(versions[0]), subject=subject)
    if low == high == -1:
        return phrase("Python {version} is too old for {subject}", version=_dotted(versions[-1]), subject=subject)
    names = ", ".join(map(_dotted, versions))
    return phrase("no Python here suits {subject}, found {names}", subject=subject, names=names)


def compare_to_range(specifier: str, version: Version) -> int:
    """-1 below the allowed range, 1 above, 0 inside or in a gap."""
    allowed = [(3, minor) for minor in range(_LATEST_MINOR) if _allows_minor(specifier, minor)]
    if not allowed or allowed[0] <= version[:2] <= allowed[-1]:
        return 0
    return -1 if version[:2] < allowed[0] else 1


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def read_pythons(listing: Sequence[Mapping[str, Any]]) -> tuple[Python, ...]:
    """The interpreters of uv's JSON list: releases of CPython only, newest first, one for each version."""
    found: dict[Version, Python] = {}
    for each in listing:
        version = read_release(each)
        if version and each.get("path"):
            found.setdefault(version, Python(Path(str(each["path"])), version))
    return tuple(found[version] for version in sorted(found, reverse=True))


def read_release(row: Mapping[str, Any]) -> Version:
    """The version in a row of uv's lists; empty if it is not a release of the default CPython."""
    parts = row.get("version_parts") or {}
    version = (int(parts.get("major", 0)), int(parts.get("minor", 0)), int(parts.get("patch", 0)))
    released = str(row.get("version")) == ".".join(map(str, version))
    ordinary = row.get("implementation") == "cpython" and row.get("variant", "default") == "default"
    return version if released and ordinary else ()


def running_python() -> Python:
    """The interpreter that runs Paddock; in a venv, its base interpreter."""
    return Python(Path(getattr(sys, "_base_executable", sys.executable)), sys.version_info[:3])


def this_platform() -> str:
    """`linux-x86_64`: the platform of wheels, for the key."""
    return f"{sys.platform}-{platform.machine()}"


async def fetch_pythons(uv: str, environ: Mapping[str, str]) -> tuple[Python, ...]:
    """The interpreters that uv finds on this machine, with those that it manages."""
    return read_pythons(await list_pythons(uv, environ, "--only-installed"))


async def list_pythons(uv: str, environ: Mapping[str, str], which: str) -> Sequence[Mapping[str, Any]]:
    """uv's list of interpreters; empty if uv fails."""
    downloads = "automatic" if which == "--only-downloads" else "never"
    path = os.pathsep.join((environ.get("PATH", ""), *_pyenv_directories(environ)))
    more = {"UV_PYTHON_DOWNLOADS": downloads, "PATH": path}
    output = await read_output([uv, "python", "list", which, "--output-format", "json"], {**environ, **more})
    try:
        listing: Sequence[Mapping[str, Any]] = json.loads(output or b"[]")
        return listing
    except ValueError:
        # An empty list is no error here: the build's error names the interpreters that are known.
        return ()


def _pyenv_directories(environ: Mapping[str, str]) -> list[str]:
    """The directories of pyenv's interpreters."""
    # pyenv's shims in PATH start only the versions that a directory selects.
    root = Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME") or Path.home()) / ".pyenv")
    return sorted(map(str, root.glob("versions/*/bin")))
