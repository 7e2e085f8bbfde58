"""A small disk of a test's own, and what fills it. Where nobody may mount one the test is skipped."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.programs import lack, need


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path]:
    """`directory`, which has a disk of its own meanwhile. `size`: as mount takes it, `6m`."""
    directory.mkdir()
    words = (need("mount"), "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory))
    tried = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if tried.returncode:
        lack("mount", f"may make no small disk here: {tried.stderr.strip()}")
    try:
        yield directory
    finally:
        # Lazily: a test that fails leaves files open.
        subprocess.run((need("umount"), "-l", str(directory)), check=True, timeout=60)


def fill(disk: Path) -> Path:
    """A file with all the bytes that the disk had left."""
    path = disk / "filling"
    with path.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return path
