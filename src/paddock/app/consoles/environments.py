"""The logs of environments that were built on this machine, for its console."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path

from paddock.kube.meta import Manifest

_KEY = re.compile(r"[0-9a-f]{20}")
_LOG_OF_FAILURE = re.compile(r"/([0-9a-f]{20})\.log\)")
_MOST_BYTES = 256 * 1024


async def read_build_log(root: Path, environment: Manifest) -> str:
    """The end of what its build printed, without passwords; empty before there was one. `root`: where environments are
    built."""
    key = find_key(environment)
    return await asyncio.to_thread(_read_end, root / f"{key}.log") if key else ""


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
