"""A curve as `static/charts.js` takes it, which tells the whole of its input. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.charts.curves import Segment

LANES = 8
"""Colours; the ninth curve has that of the first."""


def write_segment(segment: Segment, curve: str, label: str, lane: int, earlier: int = 0) -> Mapping[str, Any]:
    """`curve`: its entry in the legend, one for all attempts of a rank, or of a run. `label`: what it is called at the
    cursor. `earlier`: how many attempts came after it."""
    means = {} if segment.means is None else {"mean": _write_all(segment.means)}
    return {
        "curve": curve,
        "label": label,
        "lane": lane % LANES,
        "earlier": earlier,
        "repeated": segment.repeated,
        "x": _write_all(segment.xs),
        "y": _write_all(segment.ys),
        **means,
    }


def _write_all(values: Sequence[float | None]) -> list[float | int | None]:
    return [None if value is None else round_number(value) for value in values]


def round_number(value: float) -> float | int:
    """Six digits that count are more than a screen has."""
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.6g}")
