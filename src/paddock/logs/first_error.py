"""The first error in a log, with the lines around it; of one that has none, its last lines. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.logs.complaints import is_echo, read_complaint
from paddock.logs.folding import Folding
from paddock.logs.torchrun import is_of_torchrun
from paddock.logs.tracebacks import CHAINED, begins_traceback, without_rank

BEFORE, AFTER = 5, 5
"""Lines around the error and its traceback."""
LAST = 10
"""Lines of a log without an error."""
_LONGEST_TRACEBACK = 100


@dataclass(slots=True)
class _Excerpt:
    lines: list[str]
    is_echo: bool
    left: int = AFTER

    in_chain: bool = False
    """The traceback of what was raised from it, or while it was handled, is under way."""

    def add(self, line: str) -> None:
        if not self.left or len(self.lines) > 2 * _LONGEST_TRACEBACK:
            self.left = 0
            return
        self.lines.append(line)
        if line.startswith(CHAINED):
            self.in_chain = True
        elif not self.in_chain:
            self.left -= 1
        elif read_complaint(without_rank(line)) is not None:
            self.in_chain, self.left = False, AFTER


def find_first_error(lines: Iterable[str]) -> list[str]:
    """The error, its traceback and `BEFORE` lines before it, and `AFTER` lines after it, or after the last of the
    errors that were raised from it or while it was handled; empty without an error.

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
        complaint = read_complaint(without_rank(line))
        if complaint is not None and (not found or not is_echo(complaint.text)):
            found.append(_Excerpt(_begin([*window, line]), is_echo(complaint.text)))
        window.append(line)
    return found[-1].lines if found else []


def _begin(lines: list[str]) -> list[str]:
    """From `BEFORE` lines before the traceback, or before the last line if there is none."""
    start = next((place for place in range(len(lines) - 1, -1, -1) if begins_traceback(lines[place])), len(lines) - 1)
    return lines[max(0, start - BEFORE) :]


def find_last_lines(lines: Iterable[str]) -> list[str]:
    """The last lines that the program itself printed, at most `LAST`: before those by which a launcher tells of its
    failure, and without what launchers and libraries print of themselves."""
    folding, last = Folding(), deque[str](maxlen=LAST)
    for line in lines:
        if _tells_of_failure(line):
            break
        last.extend(each for each in folding.feed([line]) if each.strip())
    last.extend(each for each in folding.end() if each.strip())
    return list(last)


def _tells_of_failure(line: str) -> bool:
    return line.startswith("LAUNCH ERROR ") or (is_of_torchrun(line) and "failed (exitcode: " in line)
