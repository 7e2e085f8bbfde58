"""Puts `paddock_stacks` into an environment, where each Python of it imports it if a pod has its variable. I/O.

A line of a `.pth` file runs at each start of a Python, so it reads one variable and nothing else. Environments that
were built without it go on without it; `definition.TORCH_FORMAT` and `PADDLE_FORMAT` are their versions.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from paddock.environments.stacks import paddock_stacks

NAME = "paddock_stacks"
_LINE = f'import os; os.environ.get("{paddock_stacks.SWITCH}") == "1" and __import__("{NAME}").install()\n'


def add_stacks(directory: Path) -> None:
    """`directory`: a venv."""
    site = next((directory / "lib").glob("python*/site-packages"))
    shutil.copyfile(Path(__file__).with_name(f"{NAME}.py"), site / f"{NAME}.py")
    (site / f"{NAME}.pth").write_text(_LINE)
