"""The lines of requirements files that name what a builder could not install."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from paddock.cli.output.paths import shorten_path
from paddock.environments.requirement_files import read_text
from paddock.environments.requirements import requirement_name

_HOST = re.compile(r"https?://(?:[^\s/@]*@)?([\w.-]+)")
_LISTED = re.compile(r"spec\.requirements\s\(.*?\)\scannot\b")
"""The builder repeats all requirements here."""


def find_lines(files: Sequence[str], message: str) -> list[str]:
    """`requirements.txt:3` for each package, and for each host of an index, that `message`, the builder's, names. A
    file that cannot be read has none."""
    words = {requirement_name(word) for word in re.findall(r"[A-Za-z0-9][\w.-]*", _LISTED.sub("", message))}
    return [f"{shorten_path(file)}:{number}" for file in files for number, name in _read(file) if name in words]


def _read(file: str) -> Iterator[tuple[int, str]]:
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for number, line in enumerate(lines, 1):
        said = line.partition("#")[0].strip()
        if host := _HOST.search(said):
            yield number, requirement_name(host[1])
        if said and not said.startswith("-"):
            yield number, requirement_name(said)
