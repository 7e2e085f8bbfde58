"""What is said of disk space that comes free, or does not."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from paddock.app.cleaning.weights import Weight
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Phrase, phrase

_LEAST = 2**20
"""Bytes in other links that are worth a sentence."""


def explain_freed(weight: Weight) -> list[Phrase]:
    return [phrase("{size} came free", size=format_bytes(weight.frees)), *explain_elsewhere(weight)]


def explain_elsewhere(weight: Weight) -> list[Phrase]:
    """What other links hold of the files that go. uv's cache is for all projects of the user, so it is left to them."""
    if weight.elsewhere < _LEAST:
        return []
    return [
        phrase(
            "{size} more stay on the disk, as these files have other links: in uv's cache, which all your projects "
            "share (`{command}` empties it), or in another environment",
            size=format_bytes(weight.elsewhere), command=_empty_uv_cache(),
        )
    ]  # fmt: skip


def explain_uv_cache(environ: Mapping[str, str]) -> list[Phrase]:
    """Where uv's cache is, and what empties it; nothing where there is none."""
    user = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = Path(environ.get("UV_CACHE_DIR") or user / "uv")
    if not path.is_dir():
        return []
    return [
        phrase(
            "uv's cache in {path} has the packages that were downloaded for all your projects, and is not counted: "
            "`{command}` empties it",
            path=str(path), command=_empty_uv_cache(),
        )
    ]  # fmt: skip


def _empty_uv_cache() -> str:
    from paddock.environments.uv import find_uv  # late: few commands name it

    return f"{'uv' if shutil.which('uv') else find_uv() or 'uv'} cache clean"
