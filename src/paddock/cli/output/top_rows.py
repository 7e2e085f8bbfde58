"""What ranks use, as lines of a table and as JSON. Pure; its rows are read in `views.used`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paddock.cli.output.streams import GAP
from paddock.cli.output.tables import Table, measure
from paddock.kube.printable import show_line
from paddock.kube.quantities import format_bytes
from paddock.kube.times import format_time
from paddock.node.usage.samples import Sample
from paddock.views.used import SHOWN, RankUse
from paddock.words.phrases import phrase, render

_BARS = "▁▂▃▄▅▆▇█"
_NONE = "-"
_FEWEST = 8
"""Columns below which a curve says nothing."""


def build_table(rows: Sequence[RankUse], language: str = "en", *, everywhere: bool = False, trend: int = 0) -> Table:
    """Header and lines. GPU columns are there where a rank has one, NAMESPACE `everywhere`. `trend`: the columns of
    each curve of what was used lately; 0 for none."""
    gpus = any(row.gpus or row.gpu == row.gpu for row in rows)
    shared = any(row.share is not None for row in rows)
    header = ["NAMESPACE"] * everywhere + ["JOB", "RANK", "CPU", "MEMORY"] + ["GPU", "GPU MEMORY"] * gpus
    header += ["GPU SHARE"] * shared
    if trend:
        header += ["CPU TREND", "MEMORY TREND"] + ["GPU TREND"] * gpus
    return header, [
        _build_cells(row, language, everywhere=everywhere, gpus=gpus, shared=shared, trend=trend) for row in rows
    ]


def fit_table(rows: Sequence[RankUse], width: int, language: str = "en", *, everywhere: bool = False) -> Table:
    """The table with curves as wide as the terminal has room for; without them where it has none."""
    for trend in (SHOWN, SHOWN // 2, _FEWEST):
        header, cells = build_table(rows, language, everywhere=everywhere, trend=trend)
        table = [[show_line(cell) for cell in row] for row in (header, *cells)]
        if sum(measure(table)) + len(GAP) * (len(header) - 1) <= width:
            return header, cells
    return build_table(rows, language, everywhere=everywhere)


def _build_cells(row: RankUse, language: str, *, everywhere: bool, gpus: bool, shared: bool, trend: int) -> list[str]:
    cells = [row.namespace] * everywhere + [row.job, str(row.rank), format_cores(row.cpu), _tell_memory(row, language)]
    if gpus:
        percent = render(phrase("{percent} %", percent=f"{row.gpu:.0f}"), language)
        cells += [percent if row.gpu == row.gpu else _NONE, _tell_bytes(row.gpu_memory)]
    if shared:
        cells.append(_NONE if row.share is None else render(row.share, language))
    if trend:
        shown = row.samples[-trend:]
        cells += [
            draw([each.cpu for each in shown], row.cpu_limit),
            draw([each.memory for each in shown], row.memory_limit),
            *([draw([each.gpu for each in shown], 100.0)] if gpus else []),
        ]
    return cells


def format_cores(cores: float) -> str:
    """`0.03`, `1.9`, `12`: as exact as a look each few seconds is."""
    if cores != cores:
        return _NONE
    return f"{cores:.2f}" if cores < 1 else f"{cores:.1f}" if cores < 10 else f"{cores:.0f}"


def _tell_memory(row: RankUse, language: str) -> str:
    if row.memory != row.memory or row.memory_limit != row.memory_limit:
        return _tell_bytes(row.memory)
    said = phrase("{used} of {limit}", used=format_bytes(row.memory), limit=format_bytes(row.memory_limit))
    return render(said, language)


def _tell_bytes(count: float) -> str:
    return format_bytes(count) if count == count else _NONE


def draw(values: Sequence[float], limit: float = math.nan) -> str:
    """A line of bars from 0 to the limit, or to the highest where that is higher or no limit is known; a blank where
    nothing was measured. One value is no curve."""
    known = [value for value in values if value == value]
    if len(known) < 2:
        return ""
    most = max([*known, *([limit] if limit == limit else [])]) or 1.0
    last = len(_BARS) - 1
    return "".join(_BARS[round(max(0.0, value) / most * last)] if value == value else " " for value in values)


def build_document(rows: Sequence[RankUse]) -> dict[str, Any]:
    """For `-o json`. Cores, bytes and percent; null for what is not measured, or not limited."""
    return {"ranks": [_build_rank(row) for row in rows]}


def _build_rank(row: RankUse) -> dict[str, Any]:
    containers = row.containers or {}
    return {
        "namespace": row.namespace,
        "job": row.job,
        "kind": row.kind,
        "role": row.rank.role,
        "index": row.rank.index,
        "attempt": row.attempt,
        "pod": row.pod,
        "node": row.node,
        "measured": None if row.at is None else format_time(row.at),
        "cpu": _tell(row.cpu),
        "memory": _tell_whole(row.memory),
        "limits": {"cpu": _tell(row.cpu_limit), "memory": _tell_whole(row.memory_limit)},
        "gpus": row.gpus,
        "gpuShare": None if row.share is None else str(row.share),
        "gpu": _tell(row.gpu),
        "gpuMemory": _tell_whole(row.gpu_memory),
        "containers": [
            {"name": name, "cpu": cpu, "memory": round(memory)} for name, (cpu, memory) in containers.items()
        ],
        "samples": [_build_sample(each) for each in row.samples],
    }


def _build_sample(sample: Sample) -> dict[str, Any]:
    return {
        "time": format_time(sample.at), "cpu": _tell(sample.cpu), "memory": _tell_whole(sample.memory),
        "gpu": _tell(sample.gpu), "gpuMemory": _tell_whole(sample.gpu_memory),
    }  # fmt: skip


def _tell(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _tell_whole(value: float) -> int | None:
    return round(value) if math.isfinite(value) else None
