"""The log of a rank that ended with 0 -> the error that its program printed, caught and did not recover from. Pure.

    try:
        dist.init_process_group("nccl")
    except Exception as e:
        print(f"Error initializing process group: {e}")
        return                                            <- exit code 0, and nothing is trained

A wrong doubt is worse than none, so most lines with an error are none of this kind:

- Only fatal forms count (`complaints`), at the beginning of a line; not what a library warns of (`NCCL WARN`), nor an
  exception that Python ignores at its end.
- A program that goes on has recovered: progress, or a word of falling back, takes back what it printed before.
- A rank that never prints progress is judged by those that do: if one of them trained to its end, all did.

A program that is hidden by its shell (`python train.py | tee log`) ends with 0 too. Its log ends in a traceback that
nobody caught, from the frame with which an interpreter begins, or in what its launcher says of a failed process: `end`.
What a program prints behind either takes it back: a script may have started it again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from paddock.logs.complaints import Complaint, cut, is_echo, may_complain, read_complaint
from paddock.logs.exit_texts import FRAME, OUTERMOST, may_be_text
from paddock.logs.levels import is_logged_error
from paddock.logs.printed_lines import read_progress
from paddock.logs.tracebacks import begins_traceback, without_rank

R = TypeVar("R")

_RECOVERED = re.compile(
    r"\b(?:fall(?:s|ing)? ?back|fell back|retry(?:ing)?|retries|try(?:ing)? again|instead|"
    r"(?:initiali[sz]ed|connected|recovered)(?: \w+)? successfully|"
    r"successfully (?:initiali[sz]ed|connected|recovered)|process group (?:is )?initiali[sz]ed)\b",
    re.IGNORECASE,
)
_WORDS = ("fall", "fell", "retr", "try", "instead", "success", "initiali")
"""Of each form of `_RECOVERED`, in small letters: most lines need not be matched against it."""
LAUNCHER = "launcher"
_HINTS = ("Traceback (", "Container failed !!!", "exits with return code", "mpirun")
"""Of what no complaint has a word: lines without one of these need not be read."""
_LAUNCHER_FAILS = re.compile(
    r"LAUNCH ERROR .* Container failed !!!|(?:\S+\.)?ChildFailedError: *|"
    r".*\[launch\.py:\d+:\w+\] .* exits with return code = -?[1-9]\d*|"
    r"mpirun(?:\.real)? (?:noticed that|detected that one or more processes) .*"
)
"""PaddlePaddle's, torchrun, DeepSpeed's, Open MPI's."""
_LAUNCHES = re.compile(r"LAUNCH INFO .* Run Pod: ")
"""PaddlePaddle's launcher has started its processes again."""
_SHOWS_AGAIN, _SHOWN_AGAIN = "Container failed !!!", re.compile(r"LAUNCH INFO .* Exit code ")
"""Between them PaddlePaddle's launcher prints the end of the failed process's log, its last steps too."""
_REPORTED = re.compile(
    r".* FAILED|Failures:|Root Cause \(first observed failure\):|the job to be terminated\. The first process .*"
)
"""Lines of the reports of torchrun and Open MPI that a program might have printed."""
_HANDLED = re.compile(r"Exception ignored in|Error in atexit|Exception in thread|Process .*:$")
"""The line before a traceback that ends no program."""
_MOST_BEHIND = 1
"""Lines behind the error, or the launcher's report, that may be the program's own: `echo done` of its shell is one of
them."""
_IGNORED = "Exception ignored in"
_HARMLESS = re.compile("NCCL WARN")


class Swallowed:
    """The errors of one rank. Feed its lines in order, from the first of its log. `error`: the first that the program
    has not recovered from, with the number of its line; None without one. `end`: the error in which the log ends, so
    far; of the kind `LAUNCHER` where a launcher says that a process failed."""

    def __init__(self, first: int | None = 1) -> None:
        """`first`: the number of the first line, None where it is not known."""
        self.error: Complaint | None = None
        self._next = first
        self._is_ignored = False
        self._last = _LastError()

    @property
    def end(self) -> Complaint | None:
        error, failed = self._last.error, self._last.failed
        return error if failed is None else replace(error or failed, kind=LAUNCHER)

    def feed(self, lines: Sequence[str]) -> None:
        text = "\n".join(lines)  # a script may print a gigabyte
        is_open = self.error is not None or self.end is not None or self._last.in_frames
        if is_open or may_complain(text) or any(map(text.__contains__, _HINTS)):
            for number, line in enumerate(lines):
                self._take(line, None if self._next is None else self._next + number)
        elif lines and lines[-1].strip():
            self._last.previous = lines[-1]
        if self._next is not None:
            self._next += len(lines)

    def _take(self, line: str, number: int | None) -> None:
        self._last.add(without_rank(line), number)
        if self.error is not None and (_has_recovered(line) or read_progress(line)):
            self.error = None
        is_ignored = self._is_ignored  # the first line after the traceback is its error
        self._is_ignored = line.startswith(_IGNORED) or (is_ignored and _is_of_traceback(line))
        found = None if is_ignored else read_complaint(line)
        if found is None or not found.is_fatal or _HARMLESS.search(line) or _has_recovered(line):
            return
        if self.error is None or (is_echo(self.error.text) and not is_echo(found.text)):
            self.error = replace(found, line=number)


class _LastError:
    """The error that ended a program, and what its launcher said of that, as long as nothing shows that it went on."""

    def __init__(self) -> None:
        self.error: Complaint | None = None
        self.failed: Complaint | None = None
        self.in_frames = False
        self._before: Complaint | None = None
        self._is_outermost: bool | None = None
        self.previous = ""
        self._behind = 0
        self._is_shown_again = False

    def add(self, line: str, number: int | None) -> None:
        self._add_report(line, number)
        if begins_traceback(line):
            handled = _HANDLED.match(self.previous) is not None or is_logged_error(self.previous)
            self._before, self.error, self.in_frames = self.error, None, True
            self._is_outermost = False if handled else None
        elif self.in_frames:
            self._add_frame(line, number)
        elif (found := read_complaint(line)) is not None and found.kind in ("arguments", "signal"):
            self._end(found, number)
        elif (self.error or self.failed) and not self._is_shown_again:
            self._behind += may_be_text(line) and _REPORTED.fullmatch(line) is None
            if self._behind > _MOST_BEHIND or read_progress(line) or _has_recovered(line):
                self.error = self.failed = None
        self.previous = line if line.strip() else self.previous

    def _add_report(self, line: str, number: int | None) -> None:
        if _LAUNCHER_FAILS.fullmatch(line):
            self.failed, self._behind = Complaint(LAUNCHER, cut(line), line=number), -1  # the line itself
            self._is_shown_again = _SHOWS_AGAIN in line
        elif self._is_shown_again and _LAUNCHES.search(line):
            self.failed, self._is_shown_again = None, False
        elif self._is_shown_again and _SHOWN_AGAIN.search(line):
            self._is_shown_again = False

    def _add_frame(self, line: str, number: int | None) -> None:
        if self._is_outermost is None and (frame := FRAME.fullmatch(line)):
            self._is_outermost = frame["function"] in OUTERMOST
        elif line[:1].strip():
            self.in_frames = False
            if self._is_outermost:
                self._end(read_complaint(line) or Complaint("traceback", cut(line.strip())), number)

    def _end(self, found: Complaint, number: int | None) -> None:
        if not (self._before is not None and is_echo(found.text)):  # torchrun's own traceback, of its child's
            self._before = replace(found, line=number)
        self.error, self._behind = self._before, 0


def _has_recovered(line: str) -> bool:
    small = line.lower()
    return any(map(small.__contains__, _WORDS)) and _RECOVERED.search(line) is not None


def _is_of_traceback(line: str) -> bool:
    return not line[:1].strip() or begins_traceback(line)


def read_whole(lines: Iterable[str]) -> Swallowed:
    """What a whole log says."""
    reader = Swallowed()
    reader.feed(list(lines))
    return reader


def find_doubted(errors: Mapping[R, Complaint], progressed: Collection[R]) -> R | None:
    """The rank to name, the lowest with an error of its own; None where the job trained. `errors`: of the ranks that
    train and ended with 0; `progressed`: those of them that printed progress at some time."""
    trained = any(rank not in errors for rank in progressed)
    told = [rank for rank in errors if rank in progressed or not trained]
    own = [rank for rank in told if not is_echo(errors[rank].text)]
    return min(own or told, default=None)  # type: ignore[type-var]
