"""A log of any length -> its loss as a line that fits into a cell of a table. Pure.

A few blocks of the log are read, evenly from its first byte to its last, and of each the first line with a loss: a log
of a gigabyte costs as much as one of a quarter of a MiB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from paddock.console.backend import Spark
from paddock.logs.printed_lines import LineReader
from paddock.logs.progress import Progress

READINGS = 32
BLOCK = 4 * 2**10
WIDTH, HEIGHT = 64, 16
"""Of the picture, in its own units."""


def read_spark(read: Callable[[int, int], bytes], size: int) -> Spark | None:
    """`read`: bytes from a place on. `size`: of the log. None without two readings of a loss."""
    found = [each for each in _sample(read, size) if each.loss is not None and math.isfinite(each.loss)]
    if len(found) < 2:
        return None
    last = found[-1]
    losses = [each.loss for each in found if each.loss is not None]
    return Spark(tuple(losses[:: math.ceil(len(losses) / READINGS)]), losses[-1], last.epoch, last.step, last.steps)


def _sample(read: Callable[[int, int], bytes], size: int) -> Iterator[Progress]:
    if size <= READINGS * BLOCK:
        yield from _read_lines(read(0, size), whole=True)
        return
    step = (size - BLOCK) / (READINGS - 1)
    for number in range(READINGS):
        lines = list(_read_lines(read(round(number * step), BLOCK), whole=number == 0))
        yield from lines[-1:] if number == READINGS - 1 else lines[:1]


def _read_lines(data: bytes, *, whole: bool) -> Iterator[Progress]:
    """Progress in the lines that end in these bytes; the first is half a line unless it is `whole`."""
    *ended, _ = data.split(b"\n")
    reader = LineReader()
    for line in ended if whole else ended[1:]:
        text = line.rpartition(b"\r")[2].decode("utf-8", "replace")
        if (found := reader.read(text)) is not None and found.loss is not None:
            yield found


def draw_spark(values: Sequence[float]) -> str:
    """The points of an SVG polyline, from the left to the right edge; the highest is at the top."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    right = max(1, len(values) - 1)
    return " ".join(
        f"{number * WIDTH / right:.1f},{1 + (high - value) / span * (HEIGHT - 2):.1f}"
        for number, value in enumerate(values)
    )
