"""Progress bars in a log: tqdm's, and lines that a program draws again after moving the cursor up. Pure.

Bars that redraw themselves with a carriage return are one line already (`cli.output.log_lines`). What is left: a bar
per line, where two bars share a terminal, and a user's line after a bar, where the script prints while its bar stands:

     10%|█         | 3/30 [00:01<00:09,  2.9it/s]loss 0.5
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TQDM = re.compile(
    r"(?P<name>[^|%]{0,200}?) *(?P<percent>\d{1,3})%\|(?P<drawn>[^|]{0,400})\| *"
    r"(?P<count>[\d.]+[kMGTP]?i?B?)/(?P<total>[\d.]+[kMGTP]?i?B?|\?) \[(?P<pace>[^\]]{0,200})\](?P<rest>.*)",
    re.DOTALL,
)
_UP = re.compile(r"\x1b\[(\d*)[AF]")
_MOVES = re.compile(r"\x1b\[\d*(?:;\d*)?[A-HJK]|\x1b\[\?25[hl]")
_MOST = 100
"""Lines of a region that is drawn again, and bars of one rank."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A state of a progress bar."""

    name: str
    """What stands before it."""
    text: str
    rest: str
    """What the script printed behind it on the same line."""
    is_complete: bool


def read_bar(line: str) -> Bar | None:
    """The bar of tqdm in `line`, or None."""
    found = _TQDM.fullmatch(line) if len(line) <= 4_000 and "%|" in line else None
    if found is None:
        return None
    complete = found["count"] == found["total"] or int(found["percent"]) >= 100
    rest = found["rest"]
    return Bar(found["name"], line[: len(line) - len(rest)], rest if rest.strip() else "", complete)


class Redrawn:
    """The lines of one rank that it draws again and again in one place. Empty until the cursor first moves up."""

    def __init__(self) -> None:
        self._lines: list[str | None] = []
        self._at = 0

    @property
    def is_open(self) -> bool:
        return bool(self._lines)

    def take(self, line: str) -> tuple[bool, int]:
        """Whether `line` is of the region, and how many lines it has replaced."""
        moved = sum(int(up[1] or 1) for up in _UP.finditer(line))
        if moved and not self._lines:
            self._lines, self._at = [None] * min(moved, _MOST), 0
        elif moved:
            self._at = max(0, self._at - moved)
        if self._at >= len(self._lines):
            return False, 0
        replaced = self._lines[self._at] is not None
        self._lines[self._at] = _MOVES.sub("", line)
        self._at += 1
        return True, int(replaced)

    def close(self) -> list[str]:
        """The last state of the region, which is over."""
        lines, self._lines, self._at = self._lines, [], 0
        return [line for line in lines if line is not None]
