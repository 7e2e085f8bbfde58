"""The end of a failed program's log -> its error in one line, for a cause. Pure.

The kubelet keeps the last 80 lines or 2048 bytes of a failed container's log (terminationMessagePolicy
FallbackToLogsOnError), so the text may begin in the middle of a line or of a traceback. The rules:

- The last traceback ended the program; an earlier one was caught. Of tracebacks that are chained by accident ("During
  handling of …") the first is the root. Of `raise … from …` ("The above exception was the direct cause …") it is the
  outer one, which the program chose to end with, and it names the inner one: `KeyError: 'x' (from ValueError: bad)`.
- An error without its own text (`RuntimeError:`) is told by PaddlePaddle's summary below it.
- What follows from a peer's end, or only says that a child failed, is the reason only where there is no other.
- Without an error it is the last line: the text of `sys.exit`, of a shell, of argparse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.jobs.logs.complaints import cut, is_echo, is_lost_peer, is_own, name_inner, read_complaint
from paddock.jobs.logs.folding import Folding
from paddock.jobs.logs.tracebacks import CHAINED, FROM, begins_traceback


@dataclass(frozen=True, slots=True)
class Ending:
    """`error`: the last line of the exception; empty without one. `last`: else the last line that the program printed.
    Each at most 300 characters."""

    error: str = ""
    last: str = ""

    @property
    def is_lost_peer(self) -> bool:
        return is_lost_peer(self.error)


_FRAME = re.compile(r'  File ".+", line \d+.*')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::\s.*|:)?", re.DOTALL)
_RANK = re.compile(r"\[rank\d+\]: ?")
_CODES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_RULE = re.compile(r"-{10,}")
_OF_LAUNCHER = re.compile(r"LAUNCH ERROR .*|Container rank \d+ status .*")


def read_ending(text: str) -> Ending:
    """The error of a program that failed, in the last lines of its log."""
    lines = [_plain(line) for line in text.split("\n")]
    chains = _Errors()
    for line in lines:
        chains.add(line)
    if error := chains.find():
        return Ending(error=cut(error))
    folding = Folding()
    shown = [*folding.feed(lines), *folding.end()]
    return Ending(last=next((cut(line.strip()) for line in reversed(shown) if _is_told(line)), ""))


class _Errors:
    """The errors in lines, in groups: one of each chain of tracebacks."""

    def __init__(self) -> None:
        self._groups: list[list[str]] = []
        self._in_frames = self._in_message = self._is_chained = self._is_outer = self._after_rule = False

    def add(self, line: str) -> None:
        indented = not line[:1].strip()
        if begins_traceback(line):
            if not (self._is_chained and self._groups):
                self._groups.append([])
                self._is_outer = False
            self._in_frames, self._in_message, self._is_chained = True, False, False
        elif line.startswith(CHAINED):
            self._is_chained, self._is_outer = True, line.startswith(FROM)
        elif self._in_frames and not indented:
            self._in_frames, self._in_message = False, True
            if _RAISED.fullmatch(line):
                self._add_raised(line)
        elif not self._groups and _FRAME.fullmatch(line):  # its header was cut off
            self._groups.append([])
            self._in_frames = True
        elif not self._in_frames:
            self._add_outside(line)
        self._after_rule = _RULE.fullmatch(line) is not None

    def _add_raised(self, error: str) -> None:
        group = self._groups[-1]
        if self._is_outer and is_own(error) and (inner := _find_root(group)):
            group[:] = [name_inner(error, inner)]
        else:
            group.append(error)
        self._is_outer = False

    def _add_outside(self, line: str) -> None:
        self._in_message = self._in_message and bool(line)
        found = read_complaint(line)
        if found is None:
            return
        if not ((self._in_message or self._after_rule) and self._groups):
            self._groups.append([])
        self._groups[-1].append(found.text)

    def find(self) -> str:
        """The root of the last group that has a cause of its own."""
        roots = [root for group in self._groups if (root := _find_root(group))]
        own = [root for root in roots if not is_echo(root)]
        return (own or roots or [""])[-1]


def _find_root(group: Iterable[str]) -> str:
    told = [error for error in group if error]
    own = [error for error in told if is_own(error)]
    return (own or told or [""])[0]


def _is_told(line: str) -> bool:
    return bool(line.strip()) and not _OF_LAUNCHER.fullmatch(line)


def _plain(line: str) -> str:
    """Without colours, torch's prefix, and earlier states of a progress bar."""
    line = line.rstrip().rpartition("\r")[2]
    return _RANK.sub("", _CODES.sub("", line), count=1) if "\x1b" in line or line[:1] == "[" else line
