"""Paths of this machine, as they are shown to its user."""

from __future__ import annotations

import os

from paddock.words.paths import shorten_home


def format_path(path: str) -> str:
    """`~/proj`."""
    return shorten_home(path, os.path.expanduser("~"))  # noqa: PTH111 - no error where nobody knows the home
