"""What ranks used -> curves by time, each attempt a segment of its own. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from paddock.console.backend import RankUsage
from paddock.console.charts.curves import Chart, RankAttempt, Segment, Summary
from paddock.console.charts.thin import thin
from paddock.kube.times import Moment

USED = ("cpu", "memory", "gpu", "gpu_memory")
BYTES = ("memory", "gpu_memory")
_GIB, _MIB = 2**30, 2**20


def build_usage_chart(metric: str, ranks: Sequence[RankUsage], start: Moment, most: int) -> Chart | None:
    """A chart of the ranks that have this number, as they come; None without any. Bytes are shown in MiB, or in GiB
    where one has more than one. The axis begins at `start`; a curve has at most `most` points."""
    having = [each for each in ranks if any(value == value for value in each.columns.get(metric, ()))]
    if not having:
        return None
    unit, scale = choose_unit(metric, max(_known(each.columns[metric], max) for each in having))
    segments: list[Segment] = []
    summaries: list[Summary] = []
    begun: dict[int, float] = {}
    for each in having:
        place = RankAttempt(each.rank, each.attempt)
        xs = [time - start for time in each.times]
        ys = [value / scale for value in each.columns[metric]]
        shown = thin(ys, most)
        segments.append(
            Segment(place, False, [xs[at] for at in shown], [ys[at] if ys[at] == ys[at] else None for at in shown])
        )
        summaries.append(Summary(place, len(ys), _known(ys, min), _known(ys, max), ys[-1], xs[-1], unit=unit))
        begun[each.attempt] = min(xs[0], begun.get(each.attempt, math.inf))
    first = min(begun)
    return Chart(metric, "time", segments, summaries, {each: begun[each] for each in sorted(begun) if each != first})


def choose_unit(metric: str, most: float) -> tuple[str, float]:
    """The unit of a number whose highest is `most`, and by what the number is divided."""
    if metric in BYTES:
        return ("GiB", _GIB) if most >= _GIB else ("MiB", _MIB)
    return ("%", 1) if metric == "gpu" else ("", 1)


def find_start(ranks: Sequence[RankUsage], others: Mapping[RankAttempt, Moment] | None = None) -> Moment:
    """The first moment of all; 0 without any."""
    known = [each.times[0] for each in ranks if each.times]
    return min([*known, *(others or {}).values()], default=0.0)


def _known(values: Sequence[float], choose: object) -> float:
    return choose([value for value in values if value == value])  # type: ignore[operator, no-any-return]
