"""Programs that tests need and a machine may lack: one function to require them, one line in the summary for each.

A test that lacks one is skipped with `Lack`, which names the program; `support.skips` counts them for the summary.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import NoReturn

import pytest

TITLES: Mapping[str, str] = {"bwrap": "bubblewrap (bwrap)", "promtool": "promtool (Debian's package prometheus)"}
"""Programs that are known by another name."""


class Lack(pytest.skip.Exception):  # type: ignore[name-defined]
    """This machine lacks `program`; `why` follows the word "which", as "is not installed" does."""

    def __init__(self, program: str, why: str) -> None:
        super().__init__(f"needs {title_of(program)}, which {why}")
        self.program, self.why = program, why


def title_of(program: str) -> str:
    return TITLES.get(program, program)


def lack(program: str, why: str) -> NoReturn:
    raise Lack(program, why)


def need(program: str, *, path: str | None = None) -> str:
    """The path of the program; skips the test if it is not installed."""
    return shutil.which(program, path=path) or lack(program, "is not installed")
