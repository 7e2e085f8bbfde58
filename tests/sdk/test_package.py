"""`import paddock`: cheap, and typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import paddock


def test_the_import_costs_nothing_until_a_call_is_used() -> None:
    look = "[name for name in sys.modules if name.startswith('paddock')], 'rich' in sys.modules"
    program = f"import sys, paddock; print({look})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "['paddock.version', 'paddock'] False\n"


def test_all_that_is_named_is_there() -> None:
    assert set(paddock.__all__) <= set(dir(paddock))
    assert all(getattr(paddock, name) for name in paddock.__all__)
    assert issubclass(paddock.JobFailed, paddock.PaddockError)
    assert not hasattr(paddock, "walk")


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(paddock.__file__).parent / "py.typed").exists()
