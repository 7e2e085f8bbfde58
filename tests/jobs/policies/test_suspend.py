from __future__ import annotations

import pytest

from jobs.gangs import build_job, build_status
from paddock.jobs.model import Phase
from paddock.jobs.policies.suspend import plan_suspension


@pytest.mark.parametrize(
    ("wanted", "phase", "outcome"),
    [
        (False, Phase.RUNNING, None),
        (True, Phase.NONE, (Phase.SUSPENDED, None)),
        (True, Phase.RUNNING, (Phase.SUSPENDED, None)),
        (True, Phase.SUSPENDED, None),
        (False, Phase.SUSPENDED, (Phase.RESTARTING, 4)),
    ],
)
def test_suspension(wanted: bool, phase: Phase, outcome: tuple[Phase, int | None] | None) -> None:
    job = build_job(suspend=wanted)
    verdict = plan_suspension(job, build_status(job, phase, attempt=3))
    assert (verdict and (verdict.phase, verdict.attempt)) == outcome
