"""Files of this machine that a command or a script names: `bash run.sh`, `. ./env.sh`, `python train.py`.

Only regular files are opened: a pipe or a terminal would be waited for, and a device has no end. Of each no more is
read than its reader asks for. What may be read as a script, and from where its name is seen, is decided here for all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from paddock.launches.budget import LARGEST
from paddock.launches.reading import ReadFile, decode_script

_MOST = 4 * (LARGEST + 2)
"""Bytes of a script. A letter has at most four: of a text that is cut here more letters stay than one reading takes, so
that the reading says that it is not whole."""


def is_file(path: Path) -> bool:
    """Whether it is a regular file. False also for what can be no name of a file, such as one of 300 letters."""
    return os.path.isfile(path)  # noqa: PTH113 - which raises no error


def read_named(path: Path, most: int) -> bytes | None:
    """The first `most` bytes of a regular file; None of anything else, and of one that cannot be read."""
    if not is_file(path):
        return None
    try:
        with path.open("rb") as stream:
            return stream.read(most)
    except OSError:
        return None


def find_scripts(places: Sequence[Path]) -> ReadFile:
    """Reads a script by its path as seen from the first of the directories where it is a file. Of a typed command that
    is where it starts; of a file, where Paddock was started, else where the file lies."""

    def read(path: str) -> str | None:
        here = next((place / path for place in places if is_file(place / path)), None)
        data = read_named(here, _MOST) if here is not None else None
        return None if data is None else decode_script(data)

    return read


def list_places(file: str) -> list[Path]:
    """The directories from which the names in a file are seen; `-` is standard input."""
    here = Path.cwd()
    return [here] if file == "-" else [here, here / Path(file).parent]
