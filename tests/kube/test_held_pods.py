"""Until when a pod is held: what it asks for, how it has ended, and when."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.kube.held_pods import HOLD_ANNOTATION, MOST_SECONDS, parse_hold, read_held, write_hold
from paddock.kube.times import format_time

END = 1_700_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800), ("90s", 90), ("90", 90), ("2h", 7200), ("24h", MOST_SECONDS), ("25h", None), ("86401", None),
        ("0", None), ("0m", None), ("-1m", None), ("1.5h", None), ("x", None), ("30 m", None), ("1d", None), ("", None),
        (30, None), (None, None), ("30m\n", None),
    ],
)  # fmt: skip
def test_a_time_is_read_and_written(text: object, seconds: int | None) -> None:
    assert parse_hold(text) == seconds
    assert seconds is None or parse_hold(write_hold(seconds)) == seconds


def build_pod(phase: str = "Failed", *ends: tuple[float, int], hold: str | None = "60s", **more: Any) -> dict[str, Any]:
    statuses = [
        {"name": str(number), "state": {"terminated": {"exitCode": code, "finishedAt": format_time(end)}}}
        for number, (end, code) in enumerate(ends)
    ]
    notes = {} if hold is None else {HOLD_ANNOTATION: hold}
    return {
        "metadata": {"annotations": notes, **more},
        "spec": {"restartPolicy": "Never"},
        "status": {"phase": phase, "containerStatuses": statuses},
    }


RUNS: dict[str, Any] = {"name": "side", "state": {"running": {}}}


@pytest.mark.parametrize(
    ("pod", "until"),
    [
        (build_pod("Failed", (END, 1)), END + 60),
        (build_pod("Failed", (END, 1), (END + 5, 0)), END + 65),
        (build_pod("Failed"), None),
        (build_pod("Succeeded", (END, 0)), None),
        (build_pod("Failed", (END, 1), hold=None), None),
        (build_pod("Failed", (END, 1), hold="for long"), None),
        (build_pod("Failed", (END, 1), deletionTimestamp=format_time(END)), None),
        # its side-cars among the init containers still end
        (build_pod("Running", (END, 1)), END + 60),
        (build_pod("Running", (END, 0)), None),
    ],
)
def test_it_counts_from_the_end_of_the_pod(pod: dict[str, Any], until: float | None) -> None:
    assert read_held(pod) == until


def test_a_pod_with_a_container_that_runs_is_not_held() -> None:
    pod = build_pod("Running", (END, 1))
    pod["status"]["containerStatuses"].append(RUNS)
    assert read_held(pod) is None
