"""The Python of the training and its wheels, by their metadata: nothing of them is imported."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from paddock.doctor.host.values import Interpreter, Wheel
from paddock.doctor.probes.programs import ask_program
from paddock.environments.packages.devices import DEVICES

_PATIENCE = 10.0
PACKAGES = tuple(dict.fromkeys([*(each for device in DEVICES for each in device.packages), "torch"]))
_QUESTION = """
import sys
sys.path[:1] = []  # of the directory in which it runs, nothing is imported
import json, platform
try:
    from importlib.metadata import PackageNotFoundError, distribution
except ImportError:
    print(json.dumps({"version": platform.python_version(), "wheels": []})); sys.exit()
found = []
for name in sys.argv[1:]:
    try:
        each = distribution(name)
    except PackageNotFoundError:
        continue
    found.append({"package": name, "version": each.version or "", "requires": each.requires or []})
print(json.dumps({"version": platform.python_version(), "wheels": found}))
"""
_RUNTIME = re.compile(r"(?:nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit(?:\[[^\]]*\])?)\s*\(?==\s*(\d+)\.(\d+)")
_LOCAL = re.compile(r"\+cu(\d{2})(\d)\b")
_POST = re.compile(r"\.post(\d{2})(\d)\b")


def find_interpreter(asked: str, environ: Mapping[str, str]) -> str:
    """The path of the interpreter that is asked for, a path or a command; without one, that of the active environment,
    or else the first python in PATH. Empty if there is none."""
    if asked:
        return shutil.which(asked, path=environ.get("PATH")) or ""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(variable):
            path = Path(environ[variable], "bin/python")
            if path.exists():
                return str(path)
    return next((each for name in ("python", "python3") if (each := shutil.which(name, path=environ.get("PATH")))), "")


async def ask_interpreter(path: str, environ: Mapping[str, str]) -> Interpreter:
    """The interpreter's version and its wheels. Each failure is its `error`."""
    if not path:
        return Interpreter()
    try:
        said = await ask_program(path, "-c", _QUESTION, *PACKAGES, environ=environ, seconds=_PATIENCE)
    except TimeoutError:
        return Interpreter(path, error=f"no answer within {_PATIENCE:g} s")
    except OSError as error:
        return Interpreter(path, error=error.strerror or str(error))
    if said.code:
        lines = [line for line in said.error.splitlines() if line.strip()]
        return Interpreter(path, error=lines[-1].strip()[:200] if lines else f"exit code {said.code}")
    try:
        answer = json.loads(said.out)
        return Interpreter(path, str(answer["version"]), tuple(map(read_wheel, answer["wheels"])))
    except (ValueError, KeyError, TypeError):
        return Interpreter(path, error=f"it answered {said.out.strip()[:80]!r}")


def read_wheel(row: Mapping[str, Any]) -> Wheel:
    """A wheel from its metadata: `version`, and `requires` (Requires-Dist), where GPU wheels name CUDA's runtime."""
    package, version = str(row["package"]), str(row["version"])
    cuda = read_cuda(version, map(str, row["requires"]))
    if package == "torch":
        return Wheel(package, version, "GPU" if cuda else "CPU" if version.endswith("+cpu") else "", cuda)
    device = next((each.name for each in DEVICES if package in each.packages), "")
    return Wheel(package, version, device, cuda)


def read_cuda(version: str, requires: Iterable[str]) -> tuple[int, int] | None:
    """CUDA's version: `2.13.0+cu126`, `2.2.2.post112`, `nvidia-cuda-runtime-cu12==12.6.77`, `cuda-toolkit==13.0.2`."""
    if match := _LOCAL.search(version) or _POST.search(version):
        return int(match[1]), int(match[2])
    found = next((match for each in requires if (match := _RUNTIME.match(each))), None)
    return (int(found[1]), int(found[2])) if found else None
