"""What doctor says of a job beside its findings: the cause first, and of one that failed never nothing."""

from __future__ import annotations

import pytest

from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.views.examined import advise_beyond, tell_cause

FAILED = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 1, "error": "ValueError: no data"})
WAITS = CauseRecord("WaitingForScheduler", {"pods": 2, "wanted": 2})
COMMAND = "paddock explain demo"


@pytest.mark.parametrize(
    ("phase", "cause", "told", "hint"),
    [
        (Phase.FAILED, FAILED, "worker-1 failed: ValueError: no data (exit code 1)",
         "the job failed for a reason that no check knows: `paddock explain demo`"),
        (Phase.FAILED, None, None, "the job failed for a reason that no check knows: `paddock explain demo`"),
        (Phase.PENDING, WAITS, "waiting for room for 2 of 2 pods",
         "the job does not run: `paddock explain demo` says why"),
        (Phase.RUNNING, CauseRecord("Running", {}), None, None),
        (Phase.COMPLETED, CauseRecord("Completed", {}), None, None),
        (Phase.FAILED, CauseRecord("Cancelled", {}), None, None),
        (Phase.FAILED, CauseRecord("OfAnotherVersion", {}), None,
         "the job failed for a reason that no check knows: `paddock explain demo`"),
    ],
)  # fmt: skip
def test_the_answer_begins_with_the_cause(
    phase: Phase, cause: CauseRecord | None, told: str | None, hint: str | None
) -> None:
    status = Status(phase=phase, cause=cause)
    said, beyond = tell_cause(status), advise_beyond(status, COMMAND)
    assert (said and str(said), beyond and str(beyond)) == (told, hint)
