"""Both sandboxes as parameters of a fixture or of a test: `pytest.fixture(params=SANDBOXES)`.

Their tests are marked `sandbox`, as those are that need bubblewrap or are marked by hand: CI runs them with and without
bubblewrap, and all others, which are the same in both, once.

A user of this machine gets bubblewrap where it works and `none` where it does not. `make test` runs that half. Where
bubblewrap works, the other half is marked `unsandboxed` and left to `make test-all`; CI hides bubblewrap once.

Whether it works is tried here, without the product: a product that no longer finds it must fail, not be skipped.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from paddock.node.runtime.sandbox import NoSandbox, Sandbox, choose_sandbox
from support.programs import lack, need, title_of


def _find_fault() -> str:
    """Why bubblewrap does not work on this machine; empty if it does."""
    if shutil.which("bwrap") is None:
        return "it is not installed"
    words = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--unshare-uts", "true")
    try:
        tried = subprocess.run(words, capture_output=True, text=True, timeout=180)
    except OSError as error:
        return str(error)
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"bwrap ended with {tried.returncode}"


def explain_lack() -> str:
    return f"does not work here: {_FAULT}" if shutil.which("bwrap") else "is not installed"


_FAULT = _find_fault()

_HERE = pytest.param("none" if _FAULT else "bubblewrap", marks=pytest.mark.sandbox)
ONE_SANDBOX = pytest.mark.parametrize("sandbox", [_HERE], indirect=True, scope="session")
"""Marks a test that trains for a minute: in this machine's sandbox alone, as other tests train in both halves."""

_SKIPPED = pytest.mark.skip(f"needs {title_of('bwrap')}, which {explain_lack()}")
SANDBOXES = (
    pytest.param("bubblewrap", marks=[pytest.mark.sandbox, *([_SKIPPED] if _FAULT else [])]),
    pytest.param("none", marks=[pytest.mark.sandbox, *([] if _FAULT else [pytest.mark.unsandboxed])]),
)
"""Where bubblewrap does not work its half is skipped by a mark, before any fixture: one of the session, as a cluster,
would be made anew each time that the other sandbox comes."""


def need_bubblewrap() -> None:
    """Skips the test where bubblewrap is not installed or does not work."""
    if _FAULT:
        lack("bwrap", explain_lack())


def need_sandbox(name: str) -> Sandbox:
    """The sandbox of this name; skips the test where pods cannot run in it."""
    if name == "bubblewrap":
        need("bwrap")
    try:
        return choose_sandbox(name)
    except NoSandbox as error:
        lack("bwrap", f"does not work here: {error}")
