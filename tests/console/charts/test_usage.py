"""What ranks used, as curves: units, restarts, and one axis with what was printed."""

from __future__ import annotations

import math

import pytest

from paddock.console.backend import RankUsage, Used
from paddock.console.charts.choice import choose
from paddock.console.charts.collect import Collected
from paddock.console.charts.curves import Clock, RankAttempt, build_chart
from paddock.console.charts.numbers import LogNumbers
from paddock.console.charts.usage import build_usage_chart, choose_unit, find_start
from paddock.console.screens.charts import draw
from paddock.kube.log_marks import Marks

GIB = 2.0**30


def rank(index: int, attempt: int, *times: float, **columns: list[float]) -> RankUsage:
    return RankUsage("worker", index, attempt, list(times), columns)


@pytest.mark.parametrize(
    ("metric", "most", "unit"),
    [
        ("memory", 2**29, ("MiB", 2**20)),
        ("memory", 2**30, ("GiB", 2**30)),
        ("gpu_memory", 2**40, ("GiB", 2**30)),
        ("gpu", 97.0, ("%", 1)),
        ("cpu", 3.5, ("", 1)),
    ],
)
def test_bytes_are_shown_as_people_do(metric: str, most: float, unit: tuple[str, float]) -> None:
    assert choose_unit(metric, most) == unit


def test_each_attempt_is_a_segment_and_its_beginning_a_mark() -> None:
    ranks = [
        rank(0, 0, 100.0, 105.0, memory=[GIB, 2 * GIB]),
        rank(0, 1, 122.0, memory=[GIB]),
        rank(1, 1, 121.0, memory=[math.nan]),
    ]
    chart = build_usage_chart("memory", ranks, 100.0, 100)
    assert chart is not None
    assert [(each.place, list(each.xs), list(each.ys)) for each in chart.segments] == [
        (RankAttempt("worker-0", 0), [0.0, 5.0], [1.0, 2.0]),
        (RankAttempt("worker-0", 1), [22.0], [1.0]),
    ]
    assert dict(chart.restarts) == {1: 22.0}
    first = chart.summaries[0]
    assert (first.count, first.lowest, first.highest, first.last, first.at, first.line) == (2, 1.0, 2.0, 2.0, 5.0, -1)
    assert build_usage_chart("gpu", ranks, 100.0, 100) is None


def test_a_long_curve_is_thinned_without_its_peak() -> None:
    chart = build_usage_chart("cpu", [rank(0, 0, *map(float, range(5000)), cpu=[1.0] * 4999 + [9.0])], 0.0, 100)
    assert chart is not None
    assert len(chart.segments[0].xs) <= 100 and 9.0 in chart.segments[0].ys


def read(*lines: str) -> LogNumbers:
    numbers = LogNumbers()
    for number, line in enumerate(lines):
        numbers.add(number, line.encode())
    return numbers


def test_a_line_stands_where_its_mark_says() -> None:
    log = read("step 1 loss 0.5", "other", "step 2 loss 0.4", "step 3 loss 0.3")
    assert list(log.series["loss"].places) == [0, 22, 38]
    place = RankAttempt("worker-0", 0)
    # The second mark tells of the second and the third line; nothing tells of the last yet.
    clock = Clock(100.0, {place: Marks([16, 38], [101.0, 104.0])})
    chart = build_chart("loss", {place: log, RankAttempt("worker-1", 0): log}, clock=clock)
    assert chart is not None and chart.axis == "time"
    assert [(each.place, list(each.xs)) for each in chart.segments] == [(place, [1.0, 4.0, 4.0])]


def test_what_was_printed_and_what_was_used_begin_together() -> None:
    first, second = RankAttempt("worker-0", 0), RankAttempt("worker-0", 1)
    logs = {first: read("step 1 loss 0.5"), second: read("step 1 loss 0.4")}
    marks = {first: Marks([100], [103.0]), second: Marks([100], [119.0])}
    used = Used((rank(0, 0, 100.0, cpu=[1.0]), rank(0, 1, 120.0, cpu=[1.0])))
    choice = choose(logs.values(), ["cpu"], [])
    charts = draw(Collected(logs, 2, 2, marks), used, by_time=True, choice=choice)
    assert [(each.metric, dict(each.restarts)) for each in charts] == [("loss", {1: 19.0}), ("cpu", {1: 19.0})]
    assert list(charts[0].segments[0].xs) == [3.0]
    by_step, measured = draw(Collected(logs, 2, 2), used, by_time=False, choice=choice)
    assert (by_step.axis, dict(by_step.restarts), dict(measured.restarts)) == ("step", {1: 1.0}, {1: 20.0})


def test_without_anything_the_start_is_none() -> None:
    assert find_start([]) == 0.0
    assert draw(Collected({}, 0, 0), None, by_time=True, choice=choose([], [], [])) == []
