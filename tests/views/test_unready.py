"""A container that runs and is not ready is told as such: on the line of its pod, in the job's cause, by its events."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.cli.verbs.describe import choose_of_probe, tell_event
from paddock.jobs.causes import PodsStarting
from paddock.jobs.objects.pods import read_pod
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Manifest
from paddock.views.pods import read_pod_row
from paddock.views.steps import Reach, build_steps
from support.written import build_pod

ASKED = {"tcpSocket": {"port": 9999}}
RUNS = {"running": {}}


def build(probes: dict[str, Any], told: dict[str, Any], *, phase: str = "Running", beside: Any = None) -> Manifest:
    pod = build_pod("worker", 0)
    more = [{"name": "metrics"}] if beside else []
    pod["spec"]["containers"] = [{"name": "paddle", **probes}, *more]
    statuses = [{"name": "paddle", "state": RUNS, "ready": False, **told}]
    pod["status"] |= {
        "phase": phase,
        "containerStatuses": statuses + ([{"name": "metrics", **beside}] if beside else []),
    }
    return pod


SAID = "container paddle runs, and is not ready by its"
READINESS, BOTH = {"readinessProbe": ASKED}, {"readinessProbe": ASKED, "startupProbe": ASKED}
WAITS = {"state": {"waiting": {"reason": "ContainerCreating"}}, "ready": False}


@pytest.mark.parametrize(
    ("pod", "row", "container"),
    [
        (build(READINESS, {"started": True}), f"{SAID} readinessProbe", "paddle"),
        (build(BOTH, {"started": False}), f"{SAID} startupProbe", "paddle"),
        (build(BOTH, {"started": True}), f"{SAID} readinessProbe", "paddle"),
        (build(READINESS, {"ready": True}), "", ""),
        (build({}, {}), "", "paddle"),  # of a kubelet that will say so at once
        (build(READINESS, {"state": {"waiting": {"reason": "ContainerCreating"}}}), "", ""),
        (build(READINESS, {}, beside=WAITS), "", ""),  # another one has still to start, and is the better reason
        (build(READINESS, {"ready": True}, beside={"state": RUNS, "ready": False}), "", "metrics"),
    ],
)  # fmt: skip
def test_what_runs_and_is_not_ready_is_told(pod: Manifest, row: str, container: str) -> None:
    assert read_pod_row(pod).message == row
    read = read_pod(pod)
    assert read is not None
    assert read.unready == container


def test_a_cause_names_the_container_and_the_command_that_shows_what_its_probe_said() -> None:
    record = PodsStarting(1, 1, "worker-0", "paddle").record(0)
    assert explain(record) == (
        "1 of 1 pod is starting: container paddle of worker-0 runs, and is not ready by its probe"
    )
    assert [Reach().write(step) for step in build_steps(record, "demo", "default")] == ["paddock describe demo"]
    assert build_steps(PodsStarting(1, 1).record(0), "demo", "default") == []


def test_the_last_event_of_a_probe_is_told_with_its_pod() -> None:
    pod = {"involvedObject": {"name": "demo-worker-0"}}
    events = [
        {**pod, "reason": "Unhealthy", "message": "refused", "lastTimestamp": "2026-01-01T00:00:02Z"},
        {**pod, "reason": "Unhealthy", "message": "timed out", "lastTimestamp": "2026-01-01T00:00:01Z"},
        {**pod, "reason": "Started", "message": "Started", "lastTimestamp": "2026-01-01T00:00:03Z"},
    ]
    (found,) = choose_of_probe(events)
    assert (tell_event(found, "en"), tell_event(found, "zh")) == ("demo-worker-0: refused", "demo-worker-0：refused")
    assert tell_event(events[0], "zh") == events[0]["message"]
    assert choose_of_probe(events[2:]) == []
