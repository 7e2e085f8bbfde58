from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_pods, build_services, build_status, build_torch_job, deleted, deleting
from jobs.samples import read_manifest
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.model import Observed, Phase, RestartScope, Status
from paddock.jobs.plan import plan

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


def test_a_job_that_training_operator_suspended_has_its_deadline_from_its_next_run() -> None:
    """It keeps `startTime` over a suspension, and sets a new one when the job is resumed."""
    manifest = read_manifest("pytorch_mnist")
    manifest["spec"]["runPolicy"] = {"suspend": False, "activeDeadlineSeconds": 60}
    conditions = [{"type": type_, "status": "True"} for type_ in ("Created", "Suspended")]
    manifest["status"] = {"conditions": conditions, "startTime": "2020-01-01T00:00:00Z"}
    job, status = KUBEFLOW_PYTORCH.read_job(manifest), KUBEFLOW_PYTORCH.read_status(manifest)
    for _ in range(3):
        status = plan(job, status, Observed(), NOW).status
    assert (status.phase, status.attempt, status.started) == (Phase.PENDING, 1, None)
    assert KUBEFLOW_PYTORCH.write_status(manifest["status"], status, NOW, manifest)["startTime"] is None
