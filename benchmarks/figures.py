"""What a benchmark gives, and how it is written down.

A duration alone means little on another machine, so every figure stands beside a plain one, measured in the same run,
in turns (ours, plain, ours, plain …), as what disturbs a machine disturbs both. What is told is the median.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import psutil


class Row(Protocol):
    """One row of a section's table."""

    HEADINGS: ClassVar[tuple[str, ...]]
    """Of the columns."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As many as there are headings."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One row. `plain`: what it is compared with; `limit`: what was promised, with its goal."""

    HEADINGS: ClassVar[tuple[str, ...]] = ("What", "Paddock", "Plain", "Difference", "Promised (goal)", "")
    what: str
    ours: str
    plain: str
    difference: str
    limit: str
    kept: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        mark = {True: "kept", False: "**missed**", None: ""}[self.kept]
        return (self.what, self.ours, self.plain, self.difference, self.limit, mark)


@dataclass(frozen=True, slots=True)
class Pair:
    """Durations in seconds, taken in turns."""

    ours: tuple[float, ...]
    plain: tuple[float, ...]

    @property
    def more(self) -> float:
        """Seconds that ours takes longer: the median of the differences of neighbours."""
        return statistics.median(ours - plain for ours, plain in zip(self.ours, self.plain, strict=True))

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.plain)


def alternate(ours: Callable[[], float], plain: Callable[[], float], times: int, *, warm_up: int = 1) -> Pair:
    """Both in turns, after `warm_up` rounds that do not count."""
    rounds = [(ours(), plain()) for _ in range(warm_up + times)][warm_up:]
    return Pair(tuple(one for one, _ in rounds), tuple(other for _, other in rounds))


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def seconds(durations: Sequence[float]) -> str:
    """`1.42 s (1.40 to 1.51)`."""
    return f"{statistics.median(durations):.2f} s ({min(durations):.2f} to {max(durations):.2f})"


def describe_machine() -> str:
    """Where and when this was measured."""
    memory = round(psutil.virtual_memory().total / 2**30)
    busy = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {memory} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}; load average at the end {busy:.1f}"
    )


def build_table(rows: Sequence[Row]) -> str:
    """A Markdown table of rows of one kind."""
    cells = [rows[0].HEADINGS, *(row.cells for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
