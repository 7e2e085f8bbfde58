#!/usr/bin/env python3
"""The light tests, in two calls of pytest at once: folders that wait for processes and timers, and those that compute.

    tools/light_tests.py WAITING -- COMPUTING -- WORD…    the words of each call, and those of both

The first one's output is shown as it comes; the second one's, which is in build/computing.log meanwhile, after it. Ends
with 0 if both have passed, or one has and the other has no such test, and else with the code of one that has not.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

_PYTEST = (sys.executable, "-m", "pytest", "-q")
_LOG = Path("build", "computing.log")
_COSTS = Path("build", "costs")
"""What each call has cost by room (`tests/support/costs.py`): that of an older run is no part of this one's."""
_NO_TESTS, _INTERRUPTED = 5, 130


def split(words: Sequence[str]) -> list[list[str]]:
    """The three parts between two `--`."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--" and len(parts) < 3:
            parts.append([])
        else:
            parts[-1].append(word)
    return [*parts, *([] for _ in range(3 - len(parts)))]


def choose_code(codes: Sequence[int]) -> int:
    """No tests are a failure only where both calls have none."""
    return next((code for code in codes if code not in (0, _NO_TESTS)), 0 if 0 in codes else _NO_TESTS)


def run(waiting: Sequence[str], computing: Sequence[str], both: Sequence[str]) -> int:
    _LOG.parent.mkdir(exist_ok=True)
    shutil.rmtree(_COSTS, ignore_errors=True)
    # Each keeps for itself what has failed (`--last-failed`).
    own = ("-o", "cache_dir=.pytest_cache/computing")
    with _LOG.open("wb") as log:
        second = subprocess.Popen([*_PYTEST, "--rooms=pure", *own, *computing, *both], stdout=log, stderr=log)
        first = subprocess.Popen([*_PYTEST, "--rooms=waiting", *waiting, *both])
        codes = _end((first, second))
    sys.stdout.buffer.write(_LOG.read_bytes())
    return choose_code(codes)


def _end(calls: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Their exit codes. After Ctrl-C, or when CI's time is over, both tell what has failed so far, and end."""
    try:
        return [call.wait() for call in calls]
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for call in calls:
            call.send_signal(signal.SIGINT)
        for call in calls:
            call.wait()
        return [_INTERRUPTED]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(words: Sequence[str]) -> int:
    signal.signal(signal.SIGINT, _interrupt)  # also where a script has started this with `&`
    signal.signal(signal.SIGTERM, _interrupt)
    return run(*split(words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
