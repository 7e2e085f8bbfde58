"""How bad a line is, by the words that loggers and Python use; a guess that colours and filters, and decides nothing.
Pure."""

from __future__ import annotations

import re

ERROR, WARNING = "error", "warning"

_BEGIN = rb"(?:(?<!\w)|(?<=[\d\[]m))"
"""Of a word, also behind the sequence of a colour."""
_ERROR = (
    _BEGIN + rb"(?:ERROR|FATAL|CRITICAL|Traceback|[Ff]atal|[Ee]rror)(?!\w)"
    rb"|\w(?:Error|Exception)(?!\w)|^\[?E\d{4} |core dumped"
)
_WARNING = _BEGIN + rb"(?:WARN(?:ING)?|[Ww]arning)(?!\w)|\wWarning(?!\w)|^\[?W\d{4} "

LEVELS = {ERROR: _ERROR, WARNING: rb"(?:" + _ERROR + rb")|(?:" + _WARNING + rb")"}
"""What a line of this level, or of a worse one, has in it."""

_ERROR_HINTS = (
    b"ERROR", b"FATAL", b"CRITICAL", b"Traceback", b"atal", b"rror", b"Exception", b"core dumped", b"\nE", b"\n[E",
)  # fmt: skip
HINTS = {ERROR: _ERROR_HINTS, WARNING: (*_ERROR_HINTS, b"WARN", b"arning", b"\nW", b"\n[W")}
"""One of these stands in each line of this level: what is looked for first, as it is found much faster."""

_ERRORS, _WARNINGS = re.compile(_ERROR), re.compile(_WARNING)
_LOOKED_AT = 2_000


def read_level(line: bytes) -> str:
    """`error`, `warning` or empty."""
    start = line[:_LOOKED_AT]
    return ERROR if _ERRORS.search(start) else WARNING if _WARNINGS.search(start) else ""
