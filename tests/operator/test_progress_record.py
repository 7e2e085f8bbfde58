"""Which changes of a status may be recorded a little later."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.jobs import causes
from paddock.jobs.model import CauseRecord, Counts, JobProgress, Phase, Status, Successes
from paddock.operator.progress_record import COUNTED_FROM, can_wait

NEW = Status()
PENDING = Status(
    phase=Phase.PENDING, roles={"worker": Counts(wanted=4, pending=4)}, last_valid="spec", mode="Collective"
)
RUNNING = replace(PENDING, phase=Phase.RUNNING, started=1000.0)
DONE = replace(RUNNING, phase=Phase.COMPLETED, finished=2000.0)


def counted(status: Status, **counts: int) -> Status:
    return replace(status, roles={"worker": Counts(wanted=4, **counts)})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NEW, PENDING),
        (PENDING, counted(PENDING, pending=3, starting=1)),
        (PENDING, counted(replace(PENDING, phase=Phase.STARTING), pending=2, running=2)),
        (PENDING, replace(PENDING, cause=causes.PodsStarting(4, 4).record(5.0))),
        (replace(PENDING, phase=Phase.RESTARTING, attempt=1), replace(PENDING, attempt=1)),
        (RUNNING, counted(RUNNING, running=3, succeeded=1)),
        (DONE, counted(DONE, succeeded=4)),
        (RUNNING, replace(RUNNING, observed_generation=2)),
        (RUNNING, replace(RUNNING, progress=JobProgress(42, 60))),
        (RUNNING, replace(RUNNING, phase=Phase.STARTING)),
        (RUNNING, replace(RUNNING, succeeded={"worker": Successes(frozenset({0}))})),
    ],
)
def test_counts_and_phases_on_the_way_can_wait(before: Status, after: Status) -> None:
    assert can_wait(before, after)


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": Phase.RUNNING, "started": 1000.0},
        {"attempt": 1},
        {"restarts": 1},
        {"losses": 1},
        {"phase": Phase.FAILED},
        {"phase": Phase.SUSPENDED},
        {"phase": Phase.TERMINATING},
        {"problem": CauseRecord("InvalidJob")},
        {"last_valid": "another"},
        {"renewals": {"worker-0": 1}},
        {"gang_size": 2},
    ],
    ids=str,
)
def test_what_decides_or_was_waited_for_is_recorded_at_once(changes: dict[str, Any]) -> None:
    assert not can_wait(PENDING, replace(PENDING, **changes))


def test_a_gang_that_runs_again_is_recorded_at_once() -> None:
    for phase in (Phase.STARTING, Phase.RESTARTING):
        assert not can_wait(replace(RUNNING, phase=phase), RUNNING)


def test_a_wait_that_a_verdict_counts_from_is_recorded_at_once() -> None:
    wait = CauseRecord("WaitingForStatuses", since=1000.0)
    assert not can_wait(RUNNING, replace(RUNNING, cause=wait))
    assert not can_wait(replace(RUNNING, cause=wait), RUNNING)


def test_every_wait_that_a_policy_counts_from_is_known() -> None:
    """As `policies.verdict.noticed` reads them."""
    sources = Path(causes.__file__).parent.rglob("*.py")
    read = {name for path in sources for name in re.findall(r"noticed\(\w+, causes\.(\w+)", path.read_text())}
    assert read == COUNTED_FROM


def test_what_is_recorded_already_waits_for_nothing() -> None:
    assert not can_wait(PENDING, PENDING)
