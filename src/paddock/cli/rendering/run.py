"""Runs a rendered job on its machines by ssh, and follows it to its end: `paddock render --run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paddock.places.rendering import File, Request


def run_machines(request: Request, scripts: Sequence[File], directory: str | None, output: Path) -> int:
    """`scripts`: one for each of `request.hosts`, in their order. `directory`: of the program on the machines, None for
    the current directory's path. `output`: where logs are gathered. Returns the exit code."""
    raise NotImplementedError
