"""When to look, what is cores, and what nvidia-smi says."""

from __future__ import annotations

import math

import pytest

from paddock.kube.usage import Usage
from paddock.node.usage.gpu_usage import GpuUse, add_up, read_gpu_use
from paddock.node.usage.rates import Reading, begin, is_due, measure


@pytest.mark.parametrize(
    ("last", "started", "now", "due"),
    [
        (float("-inf"), (), 100.0, True),
        (100.0, (), 105.0, False),
        (100.0, (), 115.0, True),
        (100.0, (99.0,), 100.5, False),
        (100.0, (99.0,), 101.0, True),
        (100.0, (10.0,), 101.0, False),
        (100.0, (10.0,), 105.0, True),
        (100.0, (10.0, 99.0), 101.0, True),
        (100.0, (10.0,), 50.0, True),  # the clock was set back
    ],
)
def test_a_look_is_due(last: float, started: tuple[float, ...], now: float, due: bool) -> None:
    assert is_due(last, started, now) is due


@pytest.mark.parametrize(
    ("before", "after", "usage"),
    [
        (None, Reading(10.0, 1.0, 5), None),
        (Reading(5.0, 1.0, 4), Reading(10.0, 3.5, 5), Usage(10.0, 5.0, 0.5, 5)),
        (Reading(5.0, 3.0, 4), Reading(10.0, 1.0, 5), Usage(10.0, 5.0, 0.0, 5)),
        (Reading(9.9, 3.0, 4), Reading(10.0, 4.0, 5), None),
    ],
)
def test_cores_are_seconds_spent_by_seconds(before: Reading | None, after: Reading, usage: Usage | None) -> None:
    assert measure(before, after) == usage


def test_a_run_that_an_earlier_daemon_started_is_measured_from_the_first_look() -> None:
    assert begin(100.0, 101.0) == Reading(100.0, 0.0, 0.0)
    assert begin(100.0, 4000.0) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("0, 97, 1024\n", (0, GpuUse(97.0, 2.0**30))),
        ("11, 0, 0", (11, GpuUse(0.0, 0.0))),
        ("index, utilization.gpu [%], memory.used [MiB]", None),
        ("", None),
        ("Unable to determine the device handle", None),
    ],
)
def test_a_line_of_nvidia_smi(line: str, found: tuple[int, GpuUse] | None) -> None:
    assert read_gpu_use(line) == found


def test_what_nvidia_smi_does_not_tell_is_no_number() -> None:
    found = read_gpu_use("3, [N/A], 512")
    assert found is not None and found[0] == 3
    assert math.isnan(found[1].percent) and found[1].memory == 2.0**29


def test_gpus_of_one_pod_are_a_mean_and_a_sum() -> None:
    assert add_up([GpuUse(10.0, 5.0), GpuUse(30.0, 7.0)]) == GpuUse(20.0, 12.0)
    assert math.isnan(add_up([]).percent)
