"""Which Python gets .venv, how .venv is made with it, and what is missing where that cannot be. Python 3.7 or newer."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SUPPORTED = ((3, 11), (3, 15))
"""From the first, and below the second: `requires-python` of pyproject.toml."""
NAMES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
ALLOWED = f"Python {SUPPORTED[0][0]}.{SUPPORTED[0][1]} to {SUPPORTED[1][0]}.{SUPPORTED[1][1] - 1}"
_OLDEST_PIP = (22, 3)
"""The first that installs into another interpreter's environment (--python)."""


class Missing(Exception):
    """This machine lacks something, or something failed: one sentence for people."""


class Python(NamedTuple):
    """An interpreter. `pip`: version of its own pip, empty without one; `ensures_pip`: whether venv can put one in."""

    path: str
    version: tuple
    pip: tuple = ()
    ensures_pip: bool = True

    @property
    def supported(self) -> bool:
        return SUPPORTED[0] <= tuple(self.version[:2]) < SUPPORTED[1]

    @property
    def words(self) -> str:
        return f"Python {'.'.join(map(str, self.version))} ({self.path})"


# In the words of any Python. `base` is the interpreter behind an environment: .venv may be the one that is active, and
# is emptied.
_ASK = """
import json, sys
def has(name, what="__file__"):
    try:
        return hasattr(__import__(name), what)
    except Exception:
        return False
pip = sys.modules["pip"].__version__.split(".")[:2] if has("pip") else []
base = getattr(sys, "_base_executable", None) or sys.executable
pip = [int(each) for each in pip if each.isdigit()]
print(json.dumps([base, list(sys.version_info[:3]), pip, has("venv", "create") and has("ensurepip", "bootstrap")]))
"""


def ask_python(path: str) -> Python | None:
    """The interpreter at `path`, None where there is none that runs."""
    try:
        answer = subprocess.run(
            [path, "-c", _ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=30
        )
        base, version, pip, ensures_pip = json.loads(answer.stdout.decode())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Python(base if os.access(base, os.X_OK) else path, tuple(version), tuple(pip), ensures_pip)


def choose_python(named: str, search_path: str | None) -> Python:
    """`named`, else the first in `search_path` that Paddock runs on."""
    if named:
        path = shutil.which(named, path=search_path)
        found = ask_python(path) if path else None
        if found is None:
            raise Missing(f"PYTHON={named} is no Python that runs: name one of {ALLOWED}, make PYTHON=/path/to/python3")
        if not found.supported:
            raise Missing(f"PYTHON={named} is {found.words}, and Paddock runs on {ALLOWED}: name another one")
        return found
    others = []
    for name in NAMES:
        path = shutil.which(name, path=search_path)
        python = ask_python(path) if path else None
        if python and python.supported:
            return python
        if python:
            others.append(python)
    raise Missing(_explain_no_python(others))


def _explain_no_python(others: list) -> str:
    names, here = read_distribution()
    have = " and ".join(each.words for each in others)
    start = f"Paddock runs on {ALLOWED}, and PATH has {'only ' + have if have else 'no Python'}"
    own = [each for each in others if each.path.startswith("/usr/bin/")]
    if own and here.family in ("debian", "alpine"):
        # Their python3 is that one: to install it again changes nothing.
        return (
            f"{start}; {here.name} has no other python3: install uv (https://docs.astral.sh/uv), then "
            '`uv python install 3.13`, then `make PYTHON="$(uv python find 3.13)" demo`'
        )
    install = names.explain_install(here, names.PYTHON, is_root())
    return f"{start}: {install}, or name one with make PYTHON=/path/to/python3"


def plan_venv(python: Python, uv: str | None) -> str:
    """How .venv is made with `python`: `venv`; `pip`, Python's own, which works on other environments; `uv`."""
    if python.ensures_pip:
        return "venv"
    if python.pip >= _OLDEST_PIP:
        return "pip"
    if uv:
        return "uv"
    raise Missing(f"{python.words} lacks the modules that make .venv (venv, ensurepip): {advise_venv()}")


def advise_venv() -> str:
    names, here = read_distribution()
    return f"{names.explain_install(here, names.VENV, is_root())}, then try again"


def read_distribution():
    """The module of package names, which is Paddock's own, and what this machine runs."""
    place = Path(__file__).resolve().parents[1] / "src" / "paddock" / "environments" / "distributions.py"
    spec = importlib.util.spec_from_file_location("distributions", str(place))
    names = importlib.util.module_from_spec(spec)
    sys.modules["distributions"] = names
    spec.loader.exec_module(names)
    try:
        return names, names.read_distribution(Path("/etc/os-release").read_text(encoding="utf-8"))
    except OSError:
        return names, names.read_distribution("")


def is_root() -> bool:
    return os.geteuid() == 0
