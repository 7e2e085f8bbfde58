"""A log of any length -> its loss as a line that fits into a cell of a table. Pure.

A few blocks of the log are read, evenly from its first byte to its last, and of each the first line with a loss: a log
of a gigabyte costs as much as one of a quarter of a MiB. Where several processes print into one log, the curve is that
of one: of the lowest rank that lines name, else what follows the last line with the first epoch again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

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
        yield from _of_last_pass(_of_lowest_rank([list(_read_lines(read(0, size), whole=True))])[0])
        return
    step = (size - BLOCK) / (READINGS - 1)
    blocks = [list(_read_lines(read(round(number * step), BLOCK), whole=not number)) for number in range(READINGS)]
    *others, end = _of_lowest_rank(blocks)
    yield from _of_last_pass([*(each for lines in others for each in lines[:1]), *end[-1:]])


def _of_lowest_rank(blocks: Sequence[Sequence[Progress]]) -> list[list[Progress]]:
    """Without the lines of other ranks."""
    lowest = min((each.rank for lines in blocks for each in lines if each.rank is not None), default=None)
    return [[each for each in lines if each.rank in (None, lowest)] for lines in blocks]


def _of_last_pass(found: list[Progress]) -> list[Progress]:
    """From where the epochs last began anew: another process printed that, or the program trains once more."""
    begins = [
        place + 1
        for place, (before, each) in enumerate(pairwise(found))
        if each.epoch is not None and before.epoch is not None and found[0].epoch == each.epoch < before.epoch
    ]
    return found[begins[-1] :] if begins else found


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
