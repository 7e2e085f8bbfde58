"""Charts of several runs on one axis."""

from __future__ import annotations

from paddock.console.charts.curves import Chart, RankAttempt, Segment
from paddock.console.charts.drawn import write_segment
from paddock.console.charts.overlay import overlay


def build(axis: str, *attempts: int, repeated: bool = False) -> Chart:
    segments = [Segment(RankAttempt("worker-0", each), repeated, [1.0, 2.0], [0.5, None]) for each in attempts]
    return Chart("loss", axis, segments, [], {})


def test_runs_with_the_axis_of_most_are_drawn_and_the_others_named() -> None:
    found = overlay([build("step", 0), None, build("epoch", 0), build("step", 0, 1)])
    assert found is not None
    assert (found.axis, found.left_out) == ("step", [2])
    assert [(run, segment.place.attempt) for run, segment in found.segments] == [(0, 0), (3, 0), (3, 1)]


def test_what_was_repeated_is_left_out() -> None:
    found = overlay([build("step", 0, repeated=True)])
    assert found is not None and not found.segments


def test_a_number_that_no_run_has_is_no_chart() -> None:
    assert overlay([None, None]) is None and overlay([]) is None


def test_a_segment_has_the_mean_of_its_points_where_these_are_several_readings() -> None:
    short = Segment(RankAttempt("worker-0", 1), False, [1.0, 2.5], [0.123456789, None])
    assert write_segment(short, "run", "run, attempt 1", 9, 2) == {
        "curve": "run", "label": "run, attempt 1", "lane": 1, "earlier": 2, "repeated": False,
        "x": [1, 2.5], "y": [0.123457, None],
    }  # fmt: skip
    long = Segment(RankAttempt("worker-0", 1), False, [1.0], [0.5], [0.25])
    assert write_segment(long, "run", "run", 0)["mean"] == [0.25]
