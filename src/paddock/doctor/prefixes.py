"""What stands before the lines of a log that several hosts have written into one file. Pure.

    worker-0 │ LAUNCH INFO …                      paddock logs
    [pod/demo-worker-0/paddle] LAUNCH INFO …      kubectl logs --prefix
    [host1 15:38:21] LAUNCH INFO …                pssh, a script of somebody
    worker-1  | LAUNCH INFO …                     docker compose
    host1: LAUNCH INFO …                          pdsh
    (worker1, rank=1, pid=2101) LAUNCH INFO …     SkyPilot
    2026-11-20T15:38:21.5Z LAUNCH INFO …          kubectl logs --timestamps
      13.0 2 LAUNCH INFO …                        seconds and host

The form is learnt from lines of which the launcher's own text is known (`_ANCHOR`), as a script may print brackets and
colons too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANCHOR = re.compile(
    r"LAUNCH (?:INFO|WARNING|ERROR|DEBUG) |-{11}  Configuration|Container failed !!!"
    r"|\[[IWEF]\d{3,4} \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ |Traceback \(most recent call last\)"
)
_STAMP = r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"\s*(?P<seconds>\d+\.\d+) (?P<host>[\w.-]+) ",
        rf"\[(?P<host>[^\]\s]+)(?:\s[^\]]*)?\] ?(?:(?P<stamp>{_STAMP}) )?",
        rf"(?P<host>[\w./-]+)\s*[│|] ?(?:(?P<stamp>{_STAMP}) )?",
        rf"(?P<stamp>{_STAMP}) (?:std(?:out|err) [FP] )?",
        r"\((?P<host>[\w.-]+), rank=\d+, pid=\d+\) ",
        r"(?P<host>[\w.-]+): ?",
    )
)
_LONGEST = 200
"""Characters of a line in which the launcher's text is looked for."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line without what stands before it."""

    text: str
    host: str = ""  # empty where the file has one source
    stamp: str = ""  # as written
    seconds: float | None = None  # since whoever wrote the file began


class Prefixes:
    """The form of one file's prefixes. `learn` from each line until it says True; then `split`."""

    def __init__(self) -> None:
        self._form: re.Pattern[str] | None = None
        self.is_known = False

    @property
    def is_empty(self) -> bool:
        """Whether lines of this file have no prefix, as far as it is known."""
        return self._form is None

    def learn(self, line: str) -> bool:
        """Whether the form is known now. A later line with another one counts: files are put together."""
        found = _ANCHOR.search(line, 0, _LONGEST)
        if found is None:
            return self.is_known
        before = line[: found.start()]
        if not before.strip():
            self._form, self.is_known = None, True
        elif form := next((each for each in _FORMS if each.fullmatch(before)), None):
            self._form, self.is_known = form, True
        return self.is_known

    def split(self, line: str) -> Line:
        found = self._form.match(line) if self._form is not None else None
        if found is None:
            return Line(line)
        parts = found.groupdict()
        seconds = parts.get("seconds")
        return Line(
            line[found.end() :], parts.get("host") or "", parts.get("stamp") or "", float(seconds) if seconds else None
        )
