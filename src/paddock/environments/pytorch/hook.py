"""Puts `paddock_torch` into an environment, where each Python of it imports it if a job asks for it. I/O.

A line of a `.pth` file runs at each start of a Python, so it reads one variable and nothing else.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from paddock.environments.pytorch import paddock_torch

NAME = "paddock_torch"
_LINE = f'import os; os.environ.get("{paddock_torch.SWITCH}") == "1" and __import__("{NAME}").install()\n'


def add_hook(directory: Path) -> None:
    """`directory`: a venv."""
    site = next((directory / "lib").glob("python*/site-packages"))
    shutil.copyfile(paddock_torch.__file__, site / f"{NAME}.py")
    (site / f"{NAME}.pth").write_text(_LINE)
