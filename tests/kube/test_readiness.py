"""A container that is not ready by its probe is told of once the probe has had its time."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.kube.meta import Manifest
from paddock.kube.readiness import is_overdue
from support.written import build_pod

BEGUN, ASKED = "2026-11-20T10:00:00Z", {"tcpSocket": {"port": 9999}}
SECOND = 1_795_168_800.0
"""1 s is BEGUN + 1."""
READY, START = {"readinessProbe": ASKED}, {"startupProbe": {**ASKED, "failureThreshold": 60}}


def build(probes: dict[str, Any], **told: Any) -> Manifest:
    pod = build_pod("worker", 0)
    pod["spec"]["containers"] = [{"name": "paddle", **probes}]
    shown = {"name": "paddle", "state": {"running": {"startedAt": BEGUN}}, "ready": False, "started": True, **told}
    pod["status"] |= {"phase": "Running", "containerStatuses": [shown]}
    return pod


SLOW = {"readinessProbe": {**ASKED, "initialDelaySeconds": 100, "periodSeconds": 1, "failureThreshold": 1}}


@pytest.mark.parametrize(
    ("pod", "seconds", "overdue"),
    [
        (build(READY), 29, False),
        (build(READY), 31, True),
        (build(SLOW), 100, False),
        (build(SLOW), 102, True),
        (build(READY | START), 629, False),  # asked after the other one alone
        (build(READY | START), 631, True),
        (build(READY | START, started=False), 631, True),
        (build(READY, ready=True), 999, False),
        (build({}), 999, False),
        (build(READY, state={"running": {}}), 0, True),  # nobody says since when
        (build(READY, state={"waiting": {"reason": "ContainerCreating"}}), 999, False),
    ],
)  # fmt: skip
def test_a_container_is_told_of_once_its_probes_have_had_their_time(
    pod: Manifest, seconds: float, overdue: bool
) -> None:
    assert is_overdue(pod, SECOND + seconds) is overdue


def test_a_pod_that_is_being_deleted_is_nobodys_fault() -> None:
    pod = build(READY)
    pod["metadata"]["deletionTimestamp"] = BEGUN
    assert not is_overdue(pod, SECOND + 999)
