"""Checkpoints that survive a kill at any moment, for both frameworks: written whole or not at all, the older one kept.

A checkpoint is one file, named by the number of samples that are trained. Rank 0 writes it beside its place and renames
it, so there is no moment at which half a file has the name. Whoever reads takes the newest one that can be read.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEPT = 2


def find_directory() -> Path:
    """On a laptop Paddock names it; on a cluster it is a volume that the manifest mounts and names itself."""
    return Path(os.environ.get("PADDOCK_CHECKPOINT_DIR", "checkpoints"))


def write(state: dict[str, Any], samples: int, save: Callable[[Any, str], None]) -> None:
    """Only on rank 0, while the others wait."""
    directory = find_directory()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"samples-{samples:012}.ckpt"
    draft = path.with_suffix(".part")
    save(state, str(draft))
    with draft.open("rb") as written:
        os.fsync(written.fileno())  # a machine may lose its power right after the rename
    draft.replace(path)
    for old in list_all()[:-KEPT]:
        old.unlink(missing_ok=True)


def read(load: Callable[[str], Any]) -> dict[str, Any] | None:
    """The newest whole state; None to begin. Another program may have torn a file: the one before it is taken then."""
    for path in reversed(list_all()):
        try:
            state = load(str(path))
            if isinstance(state, dict) and "samples" in state:
                return state
        except Exception as error:  # whatever a framework raises for a torn file
            print(f"{path.name} cannot be read ({type(error).__name__}), so an older one is taken", flush=True)
    return None


def list_all() -> list[Path]:
    """The oldest first."""
    return sorted(find_directory().glob("samples-*.ckpt"))
