"""Local clusters to measure, each in a directory of its own, through the same commands that users type."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PADDOCK = (sys.executable, "-m", "paddock.cli.main")


class Cluster:
    """A home, and its commands."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.variables: dict[str, str] = {}
        """Of its commands, beside those of this process."""

    def paddock(self, *words: str) -> str:
        """What it prints. A failure of what is measured ends the benchmark, with its words."""
        return self._end(words).stdout

    def show(self, *words: str) -> str:
        """The same, with what it prints on standard error, as a terminal shows both."""
        ended = self._end(words)
        return ended.stdout + ended.stderr

    @property
    def environment(self) -> dict[str, str]:
        """Byte code is kept, as of an installed Paddock: to compile it anew is half of the time of a short command."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PADDOCK_HOME": str(self.home), **self.variables}

    def _end(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            (*PADDOCK, *words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if ended.returncode:
            raise SystemExit(f"paddock {' '.join(words)} ended with {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended

    def down(self) -> None:
        self.paddock("down")

    @property
    def pid(self) -> int:
        return int(json.loads((self.home / "cluster.json").read_text())["pid"])

    def write(self, name: str, *manifests: Mapping[str, Any]) -> str:
        """Manifests as a file; its path."""
        path = self.directory / name
        path.write_text("\n---\n".join(json.dumps(manifest) for manifest in manifests))
        return str(path)


@contextmanager
def open_directory() -> Iterator[Cluster]:
    """A cluster that is not up yet; ended and removed at the end."""
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="bench-")))
    try:
        yield cluster
    finally:
        cluster.down()
        shutil.rmtree(cluster.directory, ignore_errors=True)


def sandboxes() -> Sequence[str]:
    """Those that work here: `bubblewrap` where it does, and `none`."""
    tried = shutil.which("bwrap") and subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "true"], capture_output=True
    )
    return ("bubblewrap", "none") if tried and tried.returncode == 0 else ("none",)
