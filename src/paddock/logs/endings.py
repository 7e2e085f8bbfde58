"""The end of a failed program's log -> its error in one line, for a cause. Pure.

The kubelet keeps the last 80 lines or 2048 bytes of a failed container's log (terminationMessagePolicy
FallbackToLogsOnError), so the text may begin in the middle of a line or of a traceback. The rules:

- The last traceback ended the program; an earlier one was caught. Of tracebacks that are chained by accident ("During
  handling of …") the first is the root. Of `raise … from …` ("The above exception was the direct cause …") it is the
  outer one, which the program chose to end with, and it names the inner one: `KeyError: 'x' (from ValueError: bad)`.
- An error without its own text (`RuntimeError:`) is told by PaddlePaddle's summary below it.
- Of a program that had caught its last traceback, and went on, the line that it printed last is told as well
  (`exit_texts`): `ValueError: bad; its last line: giving up`. It stands alone where training came between.
- A program that was killed by a signal did not end by an error after which it had gone on.
- What follows from a peer's end, or only says that a child failed, is the reason only where there is no other.
- Of a torchrun it is the error of the rank that its report names; where that printed none, the last line that it
  printed before torchrun's own lines, with what the report says; else what the report says.
- Without an error it is what a logger wrote at the level ERROR (`levels`).
- Without such a line it is the last line: the text of `sys.exit`, of a shell, of argparse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from paddock.logs.complaints import LOST_PEER_WORDS, cut, is_echo, is_lost_peer, is_own, name_inner, read_complaint
from paddock.logs.exit_texts import ExitTexts
from paddock.logs.folding import Folding
from paddock.logs.levels import find_logged_error
from paddock.logs.torchrun import (
    CHILD_FAILED,
    ROOT,
    Report,
    is_of_torchrun,
    read_remains,
    read_report,
    select_rank,
)
from paddock.logs.tracebacks import CHAINED, FROM, begins_traceback


@dataclass(frozen=True, slots=True)
class Ending:
    """What a program said at its end; each at most 300 characters."""

    error: str = ""
    """The last line of the exception, with the last line of the log where it was caught, or what was logged as an
    error; empty without one."""
    last: str = ""
    """Else the last line that the program printed."""
    is_logged: bool = False
    """`error` is a logger's line: the program may have survived it."""

    @property
    def raised(self) -> str:
        """The error, but for a logger's line."""
        return "" if self.is_logged else self.error

    @property
    def is_lost_peer(self) -> bool:
        return is_lost_peer(self.error)


_FRAME = re.compile(r'  File ".+", line \d+.*')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::\s.*|:)?", re.DOTALL)
_RANK = re.compile(r"\[rank\d+\]: ?")
_CODES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_RULE = re.compile(r"-{10,}")
_KEPT = 1_900
"""Characters from which a text may be the 2,048 bytes that a kubelet keeps."""
_OF_LAUNCHER = re.compile(r"LAUNCH ERROR .*|Container rank \d+ status .*")


def read_ending(text: str, *, killed: bool = False) -> Ending:
    """The error of a program that failed, in the last lines of its log. `killed`: by a signal."""
    written = text.split("\n")
    lines = [_plain(line) for line in written]
    report = read_report(lines) if ROOT in text else None
    if error := _find_ended(lines, killed) if report is None else _find_reported(written, report):
        return Ending(error=cut(error))
    if report is None and (logged := find_logged_error(lines)):
        return Ending(error=cut(logged), is_logged=True)
    return Ending(last=_find_last(lines))


def may_tell_lost_peer(text: str) -> bool:
    """Whether `Ending.is_lost_peer` may hold; found much faster than an ending, which most logs need not be read for.
    Colours may stand between any two letters."""
    return any(word in text for word in LOST_PEER_WORDS) or "\x1b" in text


def _find_error(lines: Iterable[str]) -> str:
    chains = _Errors()
    for line in lines:
        chains.add(line)
    return chains.find()


def _find_told(lines: Sequence[str]) -> str:
    return _find_error(lines) or _find_error(read_remains(lines))


def _find_ended(lines: Sequence[str], killed: bool) -> str:
    error = _find_told(lines)
    if not error:
        return ""
    texts = ExitTexts()
    for line in lines:
        texts.add(line)
    if killed:
        return "" if texts.went_on else error
    said = texts.find()
    return error if said is None else said.tell(error)


def _find_reported(written: Sequence[str], report: Report) -> str:
    """The error of the rank that torchrun names, whose own lines are best, then those of the pod's other ranks."""
    told = [line for line in written if not line.rstrip().endswith(CHILD_FAILED)]
    recorded, own = _find_error(report.lines), _find_error(map(_plain, select_rank(told, report.rank)))
    found = [error for error in (recorded, own, _find_error(map(_plain, told))) if error]
    if best := next((error for error in found if not is_echo(error)), ""):
        return best
    said = "" if report.code < 0 or found else _find_said(report, told)
    if said and not is_echo(said):
        return f"{report.explain()}; its last line: {said}"
    if report.chose_its_end:
        return report.explain()
    return next(iter(found), f"{CHILD_FAILED} {report.explain()}")


def _find_said(report: Report, told: Sequence[str]) -> str:
    """What the rank told torchrun, else its last line before those of torchrun: a text of `sys.exit` or of a parser of
    options."""
    recorded = next((line for line in reversed(report.lines) if line.strip()), "")
    if recorded:
        return recorded.strip()
    # The first line of what a kubelet keeps is cut.
    told = told[1:] if sum(map(len, told)) >= _KEPT else told
    own = list(takewhile(lambda line: not is_of_torchrun(line), select_rank(told, report.rank)))
    return _find_last(map(_plain, own)) if len(own) < len(told) else ""


def _find_last(lines: Iterable[str]) -> str:
    """The last line that is the program's own; empty without one."""
    folding = Folding()
    shown = [*folding.feed(list(lines)), *folding.end()]
    return next((cut(line.strip()) for line in reversed(shown) if _is_told(line)), "")


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
