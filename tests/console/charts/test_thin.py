"""Curves thinned to what a screen has: extremes are kept."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from paddock.console.charts.thin import average, thin

VALUES = st.lists(st.floats(allow_infinity=False, width=32), min_size=1, max_size=300)


@given(VALUES, st.integers(4, 60))
def test_extremes_and_ends_are_kept(values: list[float], most: int) -> None:
    kept = thin(values, most)
    assert len(kept) <= most
    assert kept == sorted(set(kept))
    assert kept[0] == 0 and kept[-1] == len(values) - 1
    numbers = [value for value in values if not math.isnan(value)]
    shown = [values[place] for place in kept if not math.isnan(values[place])]
    if numbers:
        assert (min(shown), max(shown)) == (min(numbers), max(numbers))


def test_a_short_curve_stays_whole() -> None:
    assert thin([3.0, 1.0, 2.0]) == [0, 1, 2]


def test_one_spike_in_a_million_is_seen() -> None:
    values = [1.0] * 1_000_000
    values[654_321] = 9.0
    assert 654_321 in thin(values)


def test_a_stretch_without_numbers_keeps_a_gap() -> None:
    values = [1.0] * 100 + [math.nan] * 100 + [2.0] * 100
    assert any(math.isnan(values[place]) for place in thin(values, 20))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(4, 60))
def test_means_are_within_the_curve(values: list[float], most: int) -> None:
    kept = thin(values, most)
    means = average(values, kept)
    assert len(means) == len(kept)
    assert min(values) - 1e-3 <= min(means) and max(means) <= max(values) + 1e-3


def test_one_spike_moves_a_mean_by_its_part_alone() -> None:
    values = [1.0] * 999 + [1001.0] + [1.0] * 999
    kept = thin(values, 10)
    assert 999 in kept and max(average(values, kept)) < 5


def test_the_mean_of_what_is_no_number_is_none() -> None:
    assert math.isnan(average([math.nan, math.inf], [0])[0])
    assert average([1.0, math.nan, 3.0], [1]) == [2.0]


def test_a_mean_is_none_of_a_number_that_was_far_larger_before() -> None:
    values = [1e30] * 100 + [0.5] * 900
    kept = thin(values, 50)
    assert average(values, kept)[-1] == 0.5
