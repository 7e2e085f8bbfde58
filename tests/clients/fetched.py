"""The clients that tools/fetch_clients.py has fetched."""

from __future__ import annotations

from pathlib import Path

from fetch_clients import NAMES, find_program

from support.programs import lack

PROGRAMS = Path(__file__).parent / "programs"
"""What clients of Python do: of_CLIENT.py."""


def find(name: str) -> Path:
    """The program, or the Python, of a client; skips the test where it has not been fetched."""
    return find_program(name) or lack(NAMES[name].title, "has not been fetched (make clients)")
