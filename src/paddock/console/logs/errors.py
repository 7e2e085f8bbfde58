"""Where the first error of a log is: what of it was looked through once is not read again."""

from __future__ import annotations

import time
from dataclasses import dataclass

from paddock.history.log_index import Hints
from paddock.history.log_search import SLICE
from paddock.history.log_shelf import OpenLog
from paddock.logs.complaints import COMPLAINT_HINTS, MAY_COMPLAIN, is_echo, read_complaint
from paddock.logs.tracebacks import without_rank

_NOTE = "first error"
_HINTS = Hints(COMPLAINT_HINTS)


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A line with an error."""

    line: int  # its number, from 0
    text: str
    is_echo: bool  # it follows from another process's end


@dataclass(slots=True)
class _Scan:
    upto: int = 0
    own: ErrorLine | None = None
    echo: ErrorLine | None = None


def find_error(log: OpenLog, deadline: float) -> ErrorLine | None:
    """The first error of its own, else the first echo, as `logs.first_error` has it. After `deadline`
    (`time.monotonic`) what was found by then; the next call goes on."""
    scan = log.notes.setdefault(_NOTE, _Scan())
    assert isinstance(scan, _Scan)
    end = log.count
    while scan.own is None and scan.upto < end and time.monotonic() < deadline:
        upto = min(scan.upto + log.index.lines_of(SLICE), end)
        for number in log.index.find(log.file, MAY_COMPLAIN, scan.upto, upto, _HINTS):
            _note(scan, log, number)
            if scan.own or time.monotonic() > deadline:
                upto = number + 1
                break
        scan.upto = upto
    if scan.own is None and scan.upto == end:
        scan.upto = max(0, end - 1)  # the last line may still grow
    return scan.own or scan.echo


def _note(scan: _Scan, log: OpenLog, number: int) -> None:
    for line in log.read(number, 1):
        complaint = read_complaint(without_rank(line.data.decode("utf-8", "replace")))
        if complaint is None:
            return
        found = ErrorLine(number, complaint.text, is_echo(complaint.text))
        if not found.is_echo:
            scan.own = found
        elif scan.echo is None:
            scan.echo = found
