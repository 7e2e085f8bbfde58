"""What PaddlePaddle prints of SIGTERM, of a parameter server: it never exits by itself, so its ordinary end. Pure."""

from __future__ import annotations

import re

_BLANK = r"\s*"
_STEPS = tuple(
    re.compile(form)
    for form in (
        _BLANK, r"-{38}", r"C\+\+ Traceback \(most recent call last\):", r"-{38}",
        r"No stack trace in paddle, .*|\d+ +\S.*", _BLANK, r"-{22}", r"Error Message Summary:", r"-{22}",
        r"FatalError: `Termination signal` is detected .*", r" *\[TimeInfo: .*\]",
        r" *\[SignalInfo: \*\*\* SIGTERM .*\]", _BLANK,
    )
)  # fmt: skip
_TOLD = len(_STEPS) - 2
"""The step that names the signal: until then the lines may be those of a crash."""
_MOST = 200
_SERVERS = ("ps", "pserver", "server")


class AskedEnd:
    """Holds the lines of such a block, which begins with blank lines, until they are known to be one."""

    def __init__(self) -> None:
        self.dropped = 0
        self._held: list[str] = []
        self._step = -1

    def feed(self, lines: list[str]) -> list[str]:
        """The lines that are none of it."""
        shown: list[str] = []
        for line in lines:
            if not self._take(line):
                shown += self.end()
                if not self._take(line):
                    shown.append(line)
        return shown

    def end(self) -> list[str]:
        """The lines that were held, and are no such block."""
        held, self._held, self._step = self._held, [], -1
        return held

    def _take(self, line: str) -> bool:
        first = 0 if self._step < 0 else self._step
        last = 1 if self._step < 0 else self._step + 1
        found = next((step for step in range(last, first - 1, -1) if step < len(_STEPS) and _fits(step, line)), None)
        if found is None or len(self._held) >= _MOST:
            return False
        self._step = found
        self._held.append(line)
        if found >= _TOLD:
            self.dropped += len(self._held)
            self._held = []
        return True


def _fits(step: int, line: str) -> bool:
    return _STEPS[step].fullmatch(line) is not None


def is_server(rank: str) -> bool:
    """`ps-0`."""
    return rank.rpartition("-")[0].lower() in _SERVERS
