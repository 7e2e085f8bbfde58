"""What a call costs, counted: the same number on every machine, however busy it is.

A step is a line of Python that was run, or a call, so each turn of a loop is one at least, in a comprehension too. What
runs in C alone (a sort, a string looked for in a tuple) is not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any


def count_turns(work: Coroutine[Any, Any, object]) -> int:
    """How often others have their turn while it is done: it waits for nothing."""
    turns = 0
    try:
        while True:
            work.send(None)
            turns += 1
    except StopIteration:
        return turns


def count_steps(call: Callable[[], object]) -> int:
    counted = 0

    def trace(_frame: FrameType, _event: str, _arg: object) -> Any:
        nonlocal counted
        counted += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted
