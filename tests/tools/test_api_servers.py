"""`python -m benchmarks server`: what it says of what it saw, and that all of it runs, with the embedded API in both
places."""

from __future__ import annotations

from functools import partial

import pytest
from benchmarks.api_load import build_object, percentile
from benchmarks.api_servers import Amounts, Both, build_rate_figure, measure_sides
from benchmarks.api_sides import Embedded, open_sides
from benchmarks.figures import build_table


def seen(seconds: float, server: float) -> dict[str, float]:
    return {"seconds": seconds, "cpu": seconds / 4, "p99": 0.0125, "server": server}


def test_a_rate_is_told_beside_the_real_servers_and_with_what_the_load_cost() -> None:
    both = Both([seen(2.0, 0.5), seen(1.0, 0.5), seen(4.0, 0.5)], [seen(1.0, 1.0)] * 3)
    figure = build_rate_figure("creates", 1_000, both)
    assert figure.ours == "500/s (250 to 1,000)"
    assert figure.plain == "real 1,000/s (1,000 to 1,000)"
    assert figure.difference == (
        "0.50 of its rate; p99 12.5 / 12.5 ms; CPU of the server each 500 / 1000 us; of the load 25% / 25% of a core"
    )


@pytest.mark.parametrize(("values", "found"), [(range(100), 99), (range(1_000), 990), ([3.0], 3.0)])
def test_a_percentile_is_one_of_the_values(values: list[float], found: float) -> None:
    assert percentile(values, 0.99) == found


def test_objects_of_the_load_are_named_and_small() -> None:
    assert build_object("ConfigMap", "x-7")["metadata"] == {
        "name": "x-7",
        "labels": {"app": "bench", "bench/index": "7"},
    }
    assert build_object("Pod", "x-7")["spec"]["containers"]


@pytest.mark.slow
def test_each_figure_is_measured_and_no_acknowledged_write_is_lost() -> None:
    amounts = Amounts(1, ((1, 2), (4, 8)), 3, 1, 2, 3, 20, 40, 2, 1)
    figures = measure_sides(partial(open_sides, kinds=(Embedded, Embedded)), amounts)
    assert len(figures) == 2 + 3 * len(amounts.creates) + 2 + 3 + 1 + 1
    assert all(figure.ours and figure.plain for figure in figures)
    assert build_table(figures).count("\n") == len(figures) + 1
    (kills,) = (figure for figure in figures if figure.kept is not None)
    assert kills.ours.startswith("0 of ")
    assert kills.ours != "0 of 0"
    assert kills.kept
