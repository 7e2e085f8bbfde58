"""Programs and wheels that are not there: a real file that prints, a real folder of metadata."""

from __future__ import annotations

import os
from pathlib import Path


def write_program(directory: Path, script: str) -> dict[str, str]:
    """The environment of a shell whose nvidia-smi is this shell script."""
    program = directory / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{directory}:/usr/bin:/bin"}


def install(directory: Path, package: str, version: str, *requires: str) -> dict[str, str]:
    """The environment of a shell in which Python finds the package's metadata; the package itself is not there."""
    folder = directory / "site" / f"{package.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {package}", f"Version: {version}"]
    (folder / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {each}" for each in requires), "", ""]))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(directory / "site")}
