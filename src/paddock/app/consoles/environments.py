"""The environments of this machine, for its console."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from paddock.app.programs import read_used
from paddock.console.backend import WantedEnvironment
from paddock.environments.definition import BUILD_REQUESTED
from paddock.environments.manifests import Settings, build_manifest
from paddock.environments.requirement_files import read_requirements
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.words.phrases import Phrase

_PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8")
"""Those that uv finds or fetches. Older ones have few wheels of either framework."""
_FILE = "requirements.txt"
_KEY = re.compile(r"[0-9a-f]{20}")
_LOG_OF_FAILURE = re.compile(r"/([0-9a-f]{20})\.log\)")
_MOST_BYTES = 256 * 1024


class LocalEnvironments:
    """Implements `console.backend.Environments`. `root`: where they are built."""

    pythons: Sequence[str] = _PYTHONS

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, wanted: WantedEnvironment) -> Manifest | Sequence[Phrase]:
        def read_text(file: str) -> str:
            if file != _FILE:  # what is typed in a browser reads no file of this machine
                raise FileNotFoundError(2, "", file)
            return wanted.requirements

        read = read_requirements(_FILE, read_text)
        if read.problems:
            return read.problems
        python = f"=={wanted.python}.*" if wanted.python else ""
        return build_manifest(wanted.name, [read], Settings(images=wanted.images, python=python))

    def read_used(self, pod: Manifest, environments: Sequence[Manifest]) -> Collection[str]:
        return read_used(pod, environments)

    def request_build(self, now: Moment) -> Manifest:
        return {"metadata": {"annotations": {BUILD_REQUESTED: f"{now:.6f}"}}}

    async def read_log(self, environment: Manifest) -> str:
        key = find_key(environment)
        return await asyncio.to_thread(_read_end, self._root / f"{key}.log") if key else ""


def find_key(environment: Manifest) -> str:
    """Which build it is; of a failure, the one that its message names. Pure."""
    status = environment.get("status") or {}
    key = str(status.get("key") or "")
    if not key and (named := _LOG_OF_FAILURE.search(str(status.get("message") or ""))):
        key = named[1]
    return key if _KEY.fullmatch(key) else ""


def _read_end(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _MOST_BYTES))
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
    return ""
