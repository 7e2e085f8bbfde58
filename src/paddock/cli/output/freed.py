"""What is said of disk space that comes free, or does not."""

from __future__ import annotations

import shutil

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
    from paddock.environments.uv import find_uv

    uv = "uv" if shutil.which("uv") else find_uv() or "uv"
    return [
        phrase(
            "{size} more stay on the disk, as these files have other links: in uv's cache, which all your projects "
            "share (`{command}` empties it), or in another environment",
            size=format_bytes(weight.elsewhere), command=f"{uv} cache clean",
        )
    ]  # fmt: skip
