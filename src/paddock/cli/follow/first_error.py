"""The first error in a log, with the lines around it. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.jobs.logs.complaints import follows_from_peer, read_complaint

BEFORE, AFTER = 5, 5
"""Lines around the error and its traceback."""
_LONGEST_TRACEBACK = 100
_HEADER = "Traceback (most recent call last):"


@dataclass(slots=True)
class _Excerpt:
    lines: list[str]
    is_echo: bool
    left: int = AFTER

    def add(self, line: str) -> None:
        if self.left:
            self.lines.append(line)
            self.left -= 1


def find_first_error(lines: Iterable[str]) -> list[str]:
    """The error, its traceback and `BEFORE` lines before it, and `AFTER` lines after it; empty without an error.

    The first error that does not follow from a peer's end; without such a one the first that does. No more lines are
    read than that takes.
    """
    window: deque[str] = deque(maxlen=_LONGEST_TRACEBACK + BEFORE)
    found: list[_Excerpt] = []
    for line in lines:
        for each in found:
            each.add(line)
        if found and not found[-1].is_echo:
            if not found[-1].left:
                break
            continue
        complaint = read_complaint(line)
        if complaint is not None and (not found or not follows_from_peer(complaint)):
            found.append(_Excerpt(_begin([*window, line]), follows_from_peer(complaint)))
        window.append(line)
    return found[-1].lines if found else []


def _begin(lines: list[str]) -> list[str]:
    """From `BEFORE` lines before the traceback, or before the last line if there is none."""
    start = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].startswith(_HEADER)), len(lines) - 1)
    return lines[max(0, start - BEFORE) :]
