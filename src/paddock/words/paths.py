"""Paths as people write them. Pure."""

from __future__ import annotations


def shorten_home(path: str, home: str) -> str:
    """`~/proj` for a directory below the user's own; any other as it is."""
    home = home.rstrip("/")
    if not home or path.rstrip("/") == "":
        return path
    if path.rstrip("/") == home:
        return "~"
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
