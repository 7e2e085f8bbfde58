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
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from paddock.logs.complaints import Complaint, is_echo, may_complain, read_complaint
from paddock.logs.printed_lines import read_progress
from paddock.logs.tracebacks import begins_traceback

R = TypeVar("R")

_RECOVERED = re.compile(
    r"\b(?:fall(?:s|ing)? ?back|fell back|retry(?:ing)?|retries|try(?:ing)? again|instead|"
    r"(?:initiali[sz]ed|connected|recovered)(?: \w+)? successfully|"
    r"successfully (?:initiali[sz]ed|connected|recovered)|process group (?:is )?initiali[sz]ed)\b",
    re.IGNORECASE,
)
_WORDS = ("fall", "fell", "retr", "try", "instead", "success", "initiali")
"""Of each form of `_RECOVERED`, in small letters: most lines need not be matched against it."""
_IGNORED = "Exception ignored in"
_HARMLESS = re.compile("NCCL WARN")


class Swallowed:
    """The errors of one rank. Feed its lines in order, from the first of its log. `error`: the first that the program
    has not recovered from, with the number of its line; None without one."""

    def __init__(self, first: int | None = 1) -> None:
        """`first`: the number of the first line, None where it is not known."""
        self.error: Complaint | None = None
        self._next = first
        self._is_ignored = False

    def feed(self, lines: Sequence[str]) -> None:
        if self.error is not None or may_complain("\n".join(lines)):  # a script may print a gigabyte
            for number, line in enumerate(lines):
                self._take(line, None if self._next is None else self._next + number)
        if self._next is not None:
            self._next += len(lines)

    def _take(self, line: str, number: int | None) -> None:
        if self.error is not None and (_has_recovered(line) or read_progress(line)):
            self.error = None
        is_ignored = self._is_ignored  # the first line after the traceback is its error
        self._is_ignored = line.startswith(_IGNORED) or (is_ignored and _is_of_traceback(line))
        found = None if is_ignored else read_complaint(line)
        if found is None or not found.is_fatal or _HARMLESS.search(line) or _has_recovered(line):
            return
        if self.error is None or (is_echo(self.error.text) and not is_echo(found.text)):
            self.error = replace(found, line=number)


def _has_recovered(line: str) -> bool:
    small = line.lower()
    return any(map(small.__contains__, _WORDS)) and _RECOVERED.search(line) is not None


def _is_of_traceback(line: str) -> bool:
    return not line[:1].strip() or begins_traceback(line)


def find_swallowed(lines: Iterable[str]) -> Complaint | None:
    """The error of a whole log."""
    reader = Swallowed()
    reader.feed(list(lines))
    return reader.error


def find_doubted(errors: Mapping[R, Complaint], progressed: Collection[R]) -> R | None:
    """The rank to name, the lowest with an error of its own; None where the job trained. `errors`: of the ranks that
    train and ended with 0; `progressed`: those of them that printed progress at some time."""
    trained = any(rank not in errors for rank in progressed)
    told = [rank for rank in errors if rank in progressed or not trained]
    own = [rank for rank in told if not is_echo(errors[rank].text)]
    return min(own or told, default=None)  # type: ignore[type-var]
