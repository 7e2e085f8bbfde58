"""A directory in the place of a manifest: what is in it, and the command that runs that."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from paddock.submission.other_files import KUSTOMIZATIONS, explain_kustomization
from paddock.words.phrases import Names, Phrase, phrase

_MOST_FILES = 200
_LOOKED_AT = 4096
"""Bytes of a file, in which its apiVersion stands."""
_MANIFEST = re.compile(rb"^\s*[\"'{]*\s*\"?apiVersion\"?\s*:", re.MULTILINE)


def explain_directory(path: Path) -> Phrase:
    """What to type in place of a directory. It is there, and is one."""
    shown = shlex.quote(str(path))
    names = {each.name for each in _list(path)}
    if KUSTOMIZATIONS & names:
        return explain_kustomization(shown)
    if "Chart.yaml" in names:
        return phrase(
            "this is a chart of Helm: `helm template {directory} | paddock run -` fills it in", directory=shown
        )
    found = sorted(each for each in _list(path) if _is_manifest(each))
    if not found:
        return phrase("this is a directory, and no manifest is in it")
    command = f"paddock run {shlex.quote(str(found[0]))}"
    if len(found) == 1:
        return phrase("this is a directory, with one manifest: `{command}`", command=command)
    return phrase(
        "this is a directory, and a file is wanted: {files}, as in `{command}`; `paddock submit FILE...` takes several",
        files=Names(tuple(each.name for each in found), most=5), command=command,
    )  # fmt: skip


def _list(path: Path) -> list[Path]:
    try:
        return [each for each, _ in zip(path.iterdir(), range(_MOST_FILES), strict=False)]
    except OSError:
        return []


def _is_manifest(path: Path) -> bool:
    if path.suffix not in (".yaml", ".yml", ".json"):
        return False
    try:
        with path.open("rb") as stream:
            return _MANIFEST.search(stream.read(_LOOKED_AT)) is not None
    except OSError:
        return False
