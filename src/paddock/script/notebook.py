"""The code of a Jupyter notebook, as a program that runs it (papermill, nbconvert) hands it to Python. Pure.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html. Lines of IPython that are no Python
(`%matplotlib inline`, `!pip install …`) are left out, and cells of other languages (`%%bash`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

RUNNERS = frozenset(
    ["jupyter", "jupyter-execute", "jupyter-nbconvert", "jupyter-run", "nbclient", "nbconvert", "papermill"]
)
"""Programs and modules that run the notebooks that their arguments name."""
SUFFIX = ".ipynb"
_OF_PYTHON = ("capture", "prun", "time", "timeit")
"""Cell magics that run their cell as Python."""
_NO_PYTHON = re.compile(r"(\s*)[%!?]")


def read_code(text: str) -> str | None:
    """The code of all cells. None of what is no notebook, or not one of Python."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells, metadata = (_get(found, key) for key in ("cells", "metadata"))
    language = _get(_get(metadata, "kernelspec"), "language") or _get(_get(metadata, "language_info"), "name")
    if not isinstance(cells, Sequence) or isinstance(cells, str) or language not in (None, "python"):
        return None
    return "\n".join(_read_cell(_join(_get(cell, "source"))) for cell in cells if _get(cell, "cell_type") == "code")


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _join(source: Any) -> str:
    """A text, or its lines with their ends: the format has both."""
    lines = source if isinstance(source, list) else [source]
    return "".join(each for each in lines if isinstance(each, str))


def _read_cell(text: str) -> str:
    if magic := re.match(r"\s*%%(\w+)", text):
        if magic[1] not in _OF_PYTHON:
            return ""
        text = text.partition("\n")[2]
    return "\n".join(_read_line(line) for line in text.split("\n"))


def _read_line(line: str) -> str:
    """A block that has nothing but such a line stays a block."""
    found = _NO_PYTHON.match(line)
    return f"{found[1]}pass" if found else line
