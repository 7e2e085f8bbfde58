"""The level of a line that a logger wrote: `ERROR:root:…`, `2026-11-20 15:59:25,731 - train - ERROR - …`. Pure.

A program that logs an error may go on, and mostly does: such a line is no error by itself (`complaints`). Of a program
that failed it is the last resort before its last line, as long as no training came after it.

    logging.basicConfig     ERROR:root:no data            ERROR:__main__:no data
    logging's formats       2026-11-20 15:59:25,731 - train - ERROR - no data     [ERROR] no data     ERROR: no data
    loguru                  2026-11-20 15:59:25.731 | ERROR    | __main__:<module>:3 - no data
    PaddlePaddle, PaddleX   [2026-11-20 15:59:25,731] [   ERROR] train.py:3 - no data
    PaddleDetection         [11/20 15:59:25] ppdet.engine ERROR: no data
    accelerate              11/20/2026 15:59:25 - ERROR - __main__ - no data
    absl                    E1120 15:59:25.731000 140 train.py:3] no data
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from paddock.logs.printed_lines import read_progress

_LONGEST = 2_000
_BEFORE = 120
"""Characters in which the level stands."""
_TIME = r"[\[(]?\d[\d\-/]*[ T]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[\])]?"
_NAME = r"[\[(]?[A-Za-z_][\w.:<>/-]*[\])]?"
_LEVEL = r"[\[(|<]?\s*(?P<level>TRACE|DEBUG|INFO|SUCCESS|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"
_END = r"(?(time)[\s\])|>:,-]|(?:\s*[\])|>:]|\s+- ))"
"""A level that only stands before a blank is a word, but for one after a time."""
_LOGGED = re.compile(rf"(?P<time>{_TIME}[ |,-]*)?(?:{_NAME}[ |-]+)?{_LEVEL}{_END}\s*(?P<rest>.*)", re.DOTALL)
_ABSL = re.compile(r"[EF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+\.py:\d+\] (?P<rest>.*)", re.DOTALL)
_MAY_BE_ABSL = re.compile(r"^[EF]\d{4} ", re.MULTILINE)
_ERRORS = ("ERROR", "CRITICAL", "FATAL")
_HARMLESS = re.compile(r"ERROR: pip's dependency resolver .*|.*\bABORT!!! .*|.*\btorch/distributed/.*")
"""Installers that have done what they were to do; launchers, which tell of a process that told why itself."""


def _read_level(line: str) -> str:
    """Empty where no logger's line is known in it, or nothing follows the level."""
    text = line[:_BEFORE]
    if line.startswith("LAUNCH ") or not any(
        map(text.__contains__, ("EBUG", "INFO", "WARN", "TRACE", "SUCC", *_ERRORS))
    ):
        return "ERROR" if (found := _ABSL.match(line)) and found["rest"].strip() else ""
    found = _LOGGED.match(line[:_LONGEST])
    return found["level"] if found and found["rest"].strip(" :|-") else ""


def has_level(line: str) -> bool:
    """Whether a logger wrote the line, at any level."""
    return bool(_read_level(line.strip()))


def is_logged_error(line: str) -> bool:
    """Whether a logger wrote it at the level ERROR or above."""
    text = line.strip()
    return _read_level(text) in _ERRORS and _HARMLESS.match(text) is None


class LoggedErrors:
    """The first such line after the last training: what came before it was survived. `found`: with its number."""

    def __init__(self) -> None:
        self.found: tuple[int, str] | None = None

    def add(self, line: str, number: int) -> None:
        if self.found is None:
            self.found = (number, line.strip()) if is_logged_error(line) else None
        elif read_progress(line) is not None:
            self.found = None


def find_logged_error(lines: Iterable[str]) -> str:
    """The same of a whole log; empty without one."""
    errors = LoggedErrors()
    for number, line in enumerate(lines):
        errors.add(line, number)
    return errors.found[1] if errors.found is not None else ""


def may_log_errors(text: str) -> bool:
    """False for lines of which none is such a line: most of a log."""
    return any(map(text.__contains__, _ERRORS)) or _MAY_BE_ABSL.search(text) is not None
