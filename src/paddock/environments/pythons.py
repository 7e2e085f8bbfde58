"""Which Python interpreter an environment is built with: one of this machine, the one that runs Paddock first.

Interpreters are never downloaded. Choosing is pure; `fetch_pythons` asks uv what there is. Specifiers are those of
`requires-python` (PEP 440), on releases only: `>=3.9,<3.14`, `==3.11.*`, `~=3.11`.
"""

from __future__ import annotations

import asyncio
import json
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Version = tuple[int, ...]

SPECIFIER_PATTERN = r"^\s*((>=|<=|==|!=|~=|<|>)\s*\d+(\.\d+){0,2}(\.\*)?\s*(,\s*|$))*$"
"""For the schema of the kind; `match_version` reads all that it lets through."""

_LATEST_MINOR = 60  # "or later" begins where a range has no end below this


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter: its executable (of the base installation, not of a venv) and version."""

    path: Path
    version: Version

    @property
    def short(self) -> str:
        return ".".join(str(part) for part in self.version[:2])


def match_version(specifier: str, version: Version) -> bool:
    """Whether all terms hold. `ValueError` names the term that is none."""
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
    """The first that suits; callers put the preferred one first."""
    return next((each for each in candidates if match_version(specifier, each.version)), None)


def explain_range(specifier: str) -> str:
    """`>=3.9,<3.14` -> `Python 3.9 to 3.13`."""
    minors = [minor for minor in range(_LATEST_MINOR) if _any_release(specifier, minor)]
    if not minors or minors != list(range(minors[0], minors[-1] + 1)):
        return f"Python {specifier}"
    first, last = minors[0], minors[-1]
    if last == _LATEST_MINOR - 1:
        return f"Python 3.{first} or later" if first else "any Python"
    return f"Python 3.{first} to 3.{last}" if first != last else f"Python 3.{first}"


def _any_release(specifier: str, minor: int) -> bool:
    return any(match_version(specifier, (3, minor, patch)) for patch in (0, 50))


def explain_no_python(subject: str, specifier: str, found: Sequence[Python]) -> str:
    """`Python 3.14 is too new for paddlepaddle 3.0.0: install Python 3.9 to 3.13`."""
    wanted = explain_range(specifier)
    versions = sorted({each.version[:2] for each in found})
    install = f"install {wanted} (with your system's packages, pyenv, or `uv python install`)"
    if not versions:
        return f"no Python was found for {subject}: {install}"
    low, high = (match_range(specifier, version) for version in (versions[0], versions[-1]))
    if low == high and low != 0:
        nearest = versions[0] if low > 0 else versions[-1]
        return f"Python {_dotted(nearest)} is too {'new' if low > 0 else 'old'} for {subject}: {install}"
    return f"no Python here suits {subject}, found {', '.join(map(_dotted, versions))}: {install}"


def match_range(specifier: str, version: Version) -> int:
    """-1 below what is allowed, 1 above, 0 inside or between."""
    allowed = [(3, minor) for minor in range(_LATEST_MINOR) if _any_release(specifier, minor)]
    if not allowed or allowed[0] <= version[:2] <= allowed[-1]:
        return 0
    return -1 if version[:2] < allowed[0] else 1


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def read_pythons(listing: Sequence[Mapping[str, Any]]) -> tuple[Python, ...]:
    """uv's JSON listing of interpreters: CPython only, newest first, one for each version."""
    found: dict[Version, Python] = {}
    for each in listing:
        parts = each.get("version_parts") or {}
        version = (int(parts.get("major", 0)), int(parts.get("minor", 0)), int(parts.get("patch", 0)))
        if each.get("implementation") == "cpython" and each.get("path"):
            found.setdefault(version, Python(Path(str(each["path"])), version))
    return tuple(found[version] for version in sorted(found, reverse=True))


def running_python() -> Python:
    """The interpreter that runs Paddock; of a venv, the one it was made from."""
    return Python(Path(getattr(sys, "_base_executable", sys.executable)), sys.version_info[:3])


def this_platform() -> str:
    """`linux-x86_64`: what a wheel's platform tag turns on, for the key."""
    return f"{sys.platform}-{platform.machine()}"


async def fetch_pythons(uv: str, environ: Mapping[str, str]) -> tuple[Python, ...]:
    """What uv finds on this machine; nothing where it fails, as then the sentence is about what was found."""
    child = await asyncio.create_subprocess_exec(
        uv, "python", "list", "--only-installed", "--output-format", "json",
        env=dict(environ) | {"UV_PYTHON_DOWNLOADS": "never"}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    output, _ = await child.communicate()
    try:
        return read_pythons(json.loads(output or b"[]"))
    except ValueError:
        return ()
