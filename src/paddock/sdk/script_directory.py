"""Where the script of a function lies: `<cache>/functions/<name>-<hash>/paddock_train_<name>.py`, private to
the user.

The file is not named after the function alone: its directory is the first of Python's path, where random.py would hide
Python's own. In the cache, as pods see it and cannot change it, and not in the working directory, which is the user's.
The hash is of the text: a script never changes under a job that may start again. One that was not used for a month is
removed.
"""

from __future__ import annotations

import os
import shutil
import time
from hashlib import sha256
from pathlib import Path

from paddock.sdk.functions import Script

_PREFIX = "paddock_train_"
_KEPT_SECONDS = 30 * 24 * 3600


def write_script(cache: Path, script: Script) -> Path:
    """Its path; the file is there already if the same was written before. Raises OSError."""
    root = cache / "functions"
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = sha256(script.text.encode()).hexdigest()[:16]
    directory = root / f"{script.name}-{digest}"
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / f"{_PREFIX}{script.name}.py"
    if not path.exists():
        draft = directory / f".{os.getpid()}.new"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            stream.write(script.text)
        draft.replace(path)  # another call may write the same
    os.utime(directory)
    remove_old(root, time.time())
    return path


def remove_old(root: Path, now: float) -> None:
    for each in root.iterdir():
        if now - each.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(each, ignore_errors=True)
