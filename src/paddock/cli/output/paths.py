"""Paths as a user types them."""

from __future__ import annotations

from pathlib import Path


def shorten_path(file: str) -> str:
    """The path as it is typed here: relative if it lies below the current directory."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
