"""Puts modules into an environment with torch, where each Python of it imports them if a job has their variable. I/O.

A line of a `.pth` file runs at each start of a Python, so it reads one variable and nothing else. Environments that
were built without a module go on without it; `definition.TORCH_FORMAT` is their version.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from paddock.environments.pytorch import paddock_torch, paddock_torchrun

NAME = "paddock_torch"
_LINES = (
    f'import os; os.environ.get("{paddock_torch.SWITCH}") == "1" and __import__("{NAME}").install()\n'
    f'import os; os.environ.get("{paddock_torchrun.SWITCH}") and __import__("paddock_torchrun").install()\n'
)


def add_hook(directory: Path) -> None:
    """`directory`: a venv."""
    site = next((directory / "lib").glob("python*/site-packages"))
    for name in (NAME, "paddock_torchrun"):
        shutil.copyfile(Path(__file__).with_name(f"{name}.py"), site / f"{name}.py")
    (site / f"{NAME}.pth").write_text(_LINES)
