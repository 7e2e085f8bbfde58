"""The one judgement of all inputs: what may become of one that is bad.

A reader answers or refuses, in the words that a client gets; anything else is a fault. What it takes while it does so
is bounded by what was sent: memory by `TIMES` its bytes and what any input costs, time by a bound that is far above
what the largest input needs.
"""

from __future__ import annotations

import time
import tracemalloc

from apiserver.fuzz.targets import Target

TIMES = 20
"""Of the bytes of an input, which reading it may take of memory."""
STALL_SECONDS = 1.0
"""Of processor time that a reader may take: others wait meanwhile. Work beside the loop is told of by `slow`."""


class Fault(AssertionError):
    """An input that was not read and not refused, or that took too much."""


def judge(target: Target, data: bytes, *, measured: bool = False) -> None:
    """Raises `Fault`. `measured`: also what it takes of time and memory."""
    if not measured:
        _read(target, data)
        return
    begun = time.thread_time()
    _read(target, data)
    taken = time.thread_time() - begun
    if taken > STALL_SECONDS:
        raise Fault(f"{len(data)} bytes took {taken:.1f} s")
    tracemalloc.start()
    try:
        _read(target, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if peak > target.free + TIMES * len(data):
        raise Fault(f"{len(data)} bytes took {peak} bytes of memory, {peak / max(1, len(data)):.0f} times as many")


def _read(target: Target, data: bytes) -> None:
    try:
        target.read(data)
    except target.refusals as refusal:
        code = getattr(refusal, "code", 400)
        if code >= 500:
            raise Fault(f"it is refused as a fault of the server: {code} {refusal}") from refusal
