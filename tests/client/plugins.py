"""Credential plug-ins for tests: values, and scripts that Python runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from paddock.client.exec_plugin import ExecPlugin

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"


def build_plugin(**changes: Any) -> ExecPlugin:
    fields = {"command": "aws", "api_version": V1, "mode": "Never", "file": "/home/u/.kube/config", "user": "u"}
    return ExecPlugin(**(fields | changes))


def build_answer(version: str = V1, **status: Any) -> dict[str, Any]:
    return {"kind": "ExecCredential", "apiVersion": version, "status": status}


def write_script(path: Path, *lines: str) -> Path:
    """A program of its own, as plug-ins are: the modules json, os, sys and time are imported."""
    path.write_text("\n".join((f"#!{sys.executable} -IS", "import json, os, sys, time", *lines)) + "\n")
    path.chmod(0o700)
    return path


def write_printer(path: Path, answer: Any) -> Path:
    """A plug-in that prints this answer, and adds a line to the file `runs` beside it."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    runs = path.parent / "runs"
    return write_script(path, f"open({str(runs)!r}, 'a').write('run\\n')", f"print({text!r})")


def count_runs(directory: Path) -> int:
    runs = directory / "runs"
    return len(runs.read_text().splitlines()) if runs.exists() else 0
