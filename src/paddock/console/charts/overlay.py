"""The curves of several runs in one chart. Pure.

Two runs may count otherwise: one its steps, the other its epochs. Of such charts those are drawn together that have the
axis of most, and the others are named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.console.charts.curves import Chart, Segment


@dataclass(frozen=True, slots=True)
class Overlay:
    """One chart of several runs, which are named by their places in the list that it was made of."""

    axis: str
    """See `Chart`."""
    segments: Sequence[tuple[int, Segment]]
    """By run, each with its newest attempt last. What was repeated after a restart is left out."""
    left_out: Sequence[int]
    """Runs whose charts have another axis."""


def overlay(charts: Sequence[Chart | None]) -> Overlay | None:
    """The charts of one number, of each run in turn; None for a run without it, and where all are."""
    axes = Counter(chart.axis for chart in charts if chart)
    if not axes:
        return None
    axis = axes.most_common(1)[0][0]
    having = [(run, chart) for run, chart in enumerate(charts) if chart]
    segments = [
        (run, each) for run, chart in having if chart.axis == axis for each in chart.segments if not each.repeated
    ]
    return Overlay(axis, segments, [run for run, chart in having if chart.axis != axis])
