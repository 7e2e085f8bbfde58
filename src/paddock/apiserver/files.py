"""Files that only this user may read, written so that nobody ever sees half of one."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Replaces `path` in one step; mode 0600 from its first moment on. `OSError` where that cannot be."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
