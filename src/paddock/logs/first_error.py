"""The first error in a log, with the lines around it; of one that has none, what was logged as one, or its last lines.
Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.logs.complaints import is_echo, is_own, read_complaint
from paddock.logs.exit_texts import ExitTexts
from paddock.logs.folding import Folding
from paddock.logs.levels import is_logged_error
from paddock.logs.printed_lines import read_progress
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
    untold: int = 0
    """Of an error without its own text, which a summary below it may tell: how many lines are shown if none does."""

    @property
    def shown(self) -> list[str]:
        return self.lines[: self.untold] if self.untold else self.lines

    def add(self, line: str) -> None:
        if not self.left or len(self.lines) > 2 * _LONGEST_TRACEBACK:
            self.left = 0
            return
        self.lines.append(line)
        if self.untold and not line.startswith(CHAINED):
            self._look_for_text(without_rank(line))
            return
        self.untold = 0
        if line.startswith(CHAINED):
            self.in_chain = True
        elif not self.in_chain:
            self.left -= 1
        elif read_complaint(without_rank(line)) is not None:
            self.in_chain, self.left = False, AFTER

    def _look_for_text(self, line: str) -> None:
        told = read_complaint(line)
        if told is not None and is_own(told.text):
            self.untold = 0
        elif begins_traceback(line):
            self.left = 0


def find_first_error(lines: Iterable[str]) -> list[str]:
    """The error, its traceback and `BEFORE` lines before it, and `AFTER` lines after it, or after the last of the
    errors that were raised from it or while it was handled; empty without an error.

    The first error that does not follow from a peer's end; without such a one the first that does. Where the program
    had caught it and went on, the text by which it ended follows, as the last line (`exit_texts`). No more lines are
    read than that takes.
    """
    window: deque[str] = deque(maxlen=_LONGEST_TRACEBACK + BEFORE)
    found: list[_Excerpt] = []
    texts = ExitTexts()
    for line in lines:
        plain = without_rank(line)
        texts.add(plain)
        for each in found:
            each.add(line)
        if found and not found[-1].is_echo:
            if not found[-1].left and not texts.goes_on:
                break
            continue
        complaint = read_complaint(plain)
        if complaint is not None and (not found or not is_echo(complaint.text)):
            excerpt = _Excerpt(_begin([*window, line]), is_echo(complaint.text))
            if not (excerpt.is_echo or is_own(complaint.text)):
                excerpt.untold = len(excerpt.lines) + AFTER
            found.append(excerpt)
        window.append(line)
    return [*found[-1].shown, *_find_exit(found[-1].shown, texts)] if found else []


def _find_exit(shown: list[str], texts: ExitTexts) -> list[str]:
    """The line by which the program ended, where it is not `shown`."""
    said = texts.find()
    return [said.text] if said is not None and said.back > AFTER and shown[-1].strip() != said.text else []


def _begin(lines: list[str]) -> list[str]:
    """From `BEFORE` lines before the traceback, or before the last line if there is none."""
    start = next((place for place in range(len(lines) - 1, -1, -1) if begins_traceback(lines[place])), len(lines) - 1)
    return lines[max(0, start - BEFORE) :]


@dataclass(frozen=True, slots=True)
class LastResort:
    """What tells most of a log without an error; both without what launchers and libraries print of themselves."""

    logged: list[str]
    """The first line since the last training that a logger wrote at the level ERROR, with up to `BEFORE` lines before
    and `AFTER` after it; empty without one."""
    last: list[str]
    """The last lines that the program itself printed, at most `LAST`."""


def find_last_resort(lines: Iterable[str]) -> LastResort:
    """Of the lines before those by which a launcher tells of its failure."""
    folding, last, logged = Folding(), deque[str](maxlen=LAST), list[str]()
    most = 0

    def take(shown: Iterable[str]) -> None:
        nonlocal logged, most
        for line in filter(str.strip, shown):
            if logged and read_progress(line) is not None:
                logged = []
            elif logged and len(logged) < most:
                logged.append(line)
            elif not logged and is_logged_error(without_rank(line)):
                logged = [*list(last)[-BEFORE:], line]
                most = len(logged) + AFTER
            last.append(line)

    for line in lines:
        if _tells_of_failure(line):
            break
        take(folding.feed([line]))
    take(folding.end())
    return LastResort(logged, list(last))


def _tells_of_failure(line: str) -> bool:
    return line.startswith("LAUNCH ERROR ") or (is_of_torchrun(line) and "failed (exitcode: " in line)
