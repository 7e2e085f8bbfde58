"""Options of a batch system in the comments at the beginning of a script: `#SBATCH`, `#PBS`, `#BSUB`. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator


def find_directives(text: str, mark: re.Pattern[str]) -> Iterator[tuple[int, list[str]]]:
    """The line of each directive, and its words. They are read up to the first command. `mark`: how one begins; its
    group is what stands behind."""
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if plain and not plain.startswith("#"):
            return
        if found := mark.match(plain):
            yield number, _split(found[1])


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote is open
        return text.split()
