"""Since when a job waits: over all causes, since it was created, resumed, or ran last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import format_time
from paddock.views.waits import find_wait

CREATED = 1_700_000_000.0
QUOTA, ROOM, RESTART = "QuotaExceeded", "WaitingForScheduler", "RankRestarted"


def at(second: int, phase: Phase, reason: str = "", *, started: int | None = None) -> tuple[float, Status]:
    """What is recorded so many seconds after the creation. `started`: when all ranks ran first."""
    now = CREATED + second
    cause = CauseRecord(reason, {"ranks": ["worker-0"], "code": 1}, now) if reason else None
    return now, Status(phase=phase, cause=cause, started=None if started is None else CREATED + started)


CASES: dict[str, tuple[Sequence[tuple[float, Status]], int | None]] = {
    # what is recorded one after the other, since when it waits then
    "no operator has seen it": ([], 0),
    "an operator that came late": ([at(300, Phase.PENDING, QUOTA)], 0),
    "the cause changes": ([at(1, Phase.PENDING, QUOTA), at(11, Phase.PENDING, QUOTA), at(14, Phase.PENDING, ROOM)], 0),
    "it is suspended": ([at(1, Phase.PENDING, QUOTA), at(60, Phase.SUSPENDED, "Suspended")], 60),
    "it is resumed": (
        [at(1, Phase.SUSPENDED, "Suspended"), at(60, Phase.RESTARTING, "Resumed"), at(90, Phase.PENDING, QUOTA)],
        60,
    ),
    "it runs": ([at(1, Phase.PENDING, ROOM), at(9, Phase.RUNNING, started=9)], None),
    "it has run": (
        [at(9, Phase.RUNNING, started=9), at(70, Phase.RESTARTING, RESTART, started=9),
         at(80, Phase.PENDING, QUOTA, started=9), at(95, Phase.PENDING, ROOM, started=9)],
        70,
    ),
    "it has run and is resumed": (
        [at(9, Phase.RUNNING, started=9), at(70, Phase.SUSPENDED, "Suspended"), at(100, Phase.RESTARTING, "Resumed"),
         at(110, Phase.PENDING, QUOTA)],
        100,
    ),
    "it restarts again before all ranks run": (
        [at(9, Phase.RUNNING, started=9), at(70, Phase.RESTARTING, RESTART, started=9),
         at(90, Phase.RESTARTING, RESTART, started=9)],
        90,
    ),
}  # fmt: skip


@pytest.mark.parametrize("resource", KINDS, ids=lambda each: each.qualified)
@pytest.mark.parametrize("case", CASES)
def test_since_when_a_job_waits(resource: Resource, case: str) -> None:
    recorded, since = CASES[case]
    status: Manifest = {}
    for now, each in recorded:
        patch = KINDS[resource].write_status(status, each, now)
        status = {name: value for name, value in {**status, **patch}.items() if value is not None}
    job = {"metadata": {"name": "demo", "creationTimestamp": format_time(CREATED)}, "status": status}
    cause = recorded[-1][1].cause if recorded else None
    assert find_wait(job, cause) == (None if since is None else CREATED + since)


@pytest.mark.parametrize(
    "status", [None, [], {"conditions": 5}, {"conditions": [{"type": "Suspended", "status": "True"}]}]
)
def test_a_status_that_cannot_be_read_tells_nothing(status: Any) -> None:
    assert find_wait({"metadata": {"creationTimestamp": format_time(CREATED)}, "status": status}, None) == CREATED
    assert find_wait({"metadata": {}, "status": status}, None) is None
