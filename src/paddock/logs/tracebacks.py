"""Tracebacks of a run that were printed before: launchers print a rank's traceback again, and all ranks print the same.

A traceback is never held back while it may be new. It is recorded as it is printed; the lines of a later one are held
only while they are the beginning of a recorded one, and given back at the first line that differs. Pure.

    Traceback (most recent call last):          <- the header
      File "train.py", line 3, in <module>      <- indented lines
    ValueError: (InvalidArgument) …             <- the error
      [Hint: …]                                 <- the rest of its message, PaddlePaddle's summary, a chained traceback
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"(?:\[rank\d+\]: ?)?Traceback \(most recent call last\):\s*")
_RANK = re.compile(r"\[rank\d+\]: ?")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
FROM = "The above exception was the direct cause"
"""Before the traceback of `raise … from …`: the exception after this line ended the program."""
CHAINED = ("During handling of the above exception", FROM)
_SUMMARY = re.compile(r"-{10,}|C\+\+ Traceback \(most recent call last\):|Error Message Summary:|\d+ {2,}\S.*")
_MOST_LINES, _MOST_KNOWN, _LONGEST = 400, 32, 2_000


class Tracebacks:
    """What the ranks of one run have printed. `again`: error line -> ranks whose same traceback was not printed."""

    def __init__(self) -> None:
        self._known: dict[Trace, tuple[str, ...]] = {}
        self.again: dict[str, list[str]] = {}

    def record(self, trace: Trace, lines: Sequence[str]) -> None:
        """Records a traceback, or more of it, that is printed."""
        if trace in self._known or len(self._known) < _MOST_KNOWN:
            self._known[trace] = tuple(lines)

    def starts(self, lines: Sequence[str]) -> bool:
        """Whether a recorded traceback begins with these lines."""
        count = len(lines)
        return any(known[:count] == tuple(lines) for known in self._known.values())

    def knows(self, lines: Sequence[str]) -> bool:
        return tuple(lines) in self._known.values()

    def repeat(self, rank: str, lines: Sequence[str]) -> None:
        error = next((line for line in lines[1:] if line[:1].strip() and not _HEADER.fullmatch(line)), "")
        ranks = self.again.setdefault(error, [])
        if rank not in ranks:
            ranks.append(rank)


def without_rank(line: str) -> str:
    """The line without the prefix by which torch marks the lines of an error with their rank: `[rank1]: …`."""
    return _RANK.sub("", line, count=1) if line[:1] == "[" and _RANK.match(line) else line


def begins_traceback(line: str) -> bool:
    return "Traceback (" in line and _HEADER.fullmatch(line) is not None


class Trace:
    """One traceback of one rank, from its header on. `held`: lines that are not printed yet, as they came."""

    def __init__(self, header: str, known: Tracebacks) -> None:
        self._known = known
        self._lines = [_plain(header)]
        self._in_message = False
        self.held = [header] if known.starts(self._lines) else []

    def take(self, line: str) -> bool:
        """Whether `line` belongs to the traceback. What it proves to be new is in `held` no longer: see `release`."""
        if not self._continues(line):
            return False
        self._lines.append(_plain(line))
        if self.held:
            self.held.append(line)
        return True

    def release(self) -> list[str]:
        """Lines that need not be held, as no recorded traceback begins so."""
        if self.held and not self._known.starts(_trimmed(self._lines)):
            held, self.held = self.held, []
            return held
        return []

    def close(self, rank: str) -> tuple[list[str], int]:
        """Ends it: the lines to print now, and how many are not printed as they were printed before."""
        held, self.held = self.held, []
        if held and self._known.knows(_trimmed(self._lines)):
            self._known.repeat(rank, self._lines)
            return [], len(held)
        self.held = []
        self.record()
        return held, 0

    def record(self) -> None:
        """Makes what was printed of it known to the other ranks, once it has its error."""
        if self._in_message and not self.held:
            lines = _trimmed(self._lines)
            if not self._known.knows(lines):
                self._known.record(self, lines)

    def _continues(self, line: str) -> bool:
        text, before = _plain(line), self._lines[-1]
        if len(self._lines) >= _MOST_LINES or len(line) > _LONGEST:
            return False
        indented = not text[:1].strip()
        if not self._in_message:
            self._in_message = not indented
            return True
        if indented or text.startswith(CHAINED) or _SUMMARY.fullmatch(text):
            return True
        if begins_traceback(line):
            chained = next((each for each in reversed(self._lines) if each), "").startswith(CHAINED)
            self._in_message = not chained
            return chained
        return before.startswith("-----")


def _plain(line: str) -> str:
    """Without what differs between ranks: torch's prefix, addresses in memory."""
    return _ADDRESS.sub("0x", _RANK.sub("", line.rstrip(), count=1))


def _trimmed(lines: list[str]) -> list[str]:
    """Without blank lines at the end."""
    count = len(lines)
    while count and not lines[count - 1]:
        count -= 1
    return lines[:count]
