"""The Python files of a typed command: each is read once, however often it is asked for, and all of them together cost
no more than a budget."""

from __future__ import annotations

from pathlib import Path

from paddock.cli.submit.named_files import read_named
from paddock.script.notebook import read_code
from paddock.script.source import LARGEST, Source, read_source

MOST_FILES = 100
MOST_BYTES = 384 * 2**10
"""Of the files of one command. A KiB costs 1 to 3 ms, so all of them a second on a slow core. A file is read where
anything is left, so the program itself always is."""
_UNKNOWN = Source(is_read=False)


class Sources:
    """What the files of one command tell."""

    def __init__(self) -> None:
        self._read: dict[Path, Source] = {}
        self._files, self._bytes = MOST_FILES, MOST_BYTES
        """What is left of the budget."""

    def read(self, path: Path) -> Source:
        """What a look into this file tells. Nothing is known of one that cannot be read, or is beyond the budget."""
        if path not in self._read:
            self._read[path] = self._look(path)
        return self._read[path]

    def _look(self, path: Path) -> Source:
        if self._files <= 0 or self._bytes <= 0:
            return _UNKNOWN
        content = read_named(path, LARGEST + 1)
        self._files -= 1
        self._bytes -= len(content or b"")
        return _UNKNOWN if content is None else read_source(content)


def read_file(path: Path) -> Source:
    """What a look into this file alone tells."""
    return Sources().read(path)


def read_notebook(path: Path) -> Source:
    """The same of a notebook; one of another language than Python is not read."""
    code = read_code((read_named(path, LARGEST) or b"").decode("utf-8-sig", "replace"))
    return _UNKNOWN if code is None else read_source(code.encode(errors="replace"))
