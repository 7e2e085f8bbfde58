from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_services, build_status, build_torch_job, deleted, deleting
from paddock.jobs.model import Observed, Phase, RestartScope, Status
from paddock.jobs.plan import plan
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


TORCH = build_torch_job(suspend=True)


def running(status: Status) -> dict[str, int]:
    return {role: counts.running for role, counts in status.roles.items()}


@pytest.mark.parametrize(
    ("scope", "changes"),
    [(RestartScope.GANG, {"attempt": 1}), (RestartScope.POD, {"renewals": {"worker-0": 1}})],
)
def test_kueue_gives_quota_away_while_pods_of_an_earlier_attempt_still_end(
    scope: RestartScope, changes: dict[str, int]
) -> None:
    """A job that is suspended while it restarts: all its pods are counted until they are gone."""
    job = replace(TORCH, scope=scope)
    old = tuple(deleting(pod) for pod in build_pods(job))
    there = Observed(pods=old, services=build_services(job))
    recorded = plan(job, build_status(job, Phase.RESTARTING, roles={}, **changes), there, NOW)
    assert (recorded.status.phase, recorded.actions) == (Phase.SUSPENDED, ())
    assert running(recorded.status) == {"master": 1, "worker": 2}
    kept = plan(job, recorded.status, there, NOW + 1)
    assert (kept.status, deleted(kept)) == (recorded.status, [str(child.uid) for child in there.services])
    last = plan(job, kept.status, replace(there, pods=old[1:]), NOW + 2)
    assert running(last.status) == {"master": 0, "worker": 2}
    assert running(plan(job, last.status, Observed(), NOW + 3).status) == {"master": 0, "worker": 0}
