"""Gangs that each fit alone on this machine and not together: all of them train, one after the other."""

from __future__ import annotations

import os
from typing import Any

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

MEET = 'mkdir -p $PADDOCK_OUTPUT_DIR/met; touch "$PADDOCK_OUTPUT_DIR/met/$PADDLE_TRAINER_ID"; ' \
    "until [ $(ls $PADDOCK_OUTPUT_DIR/met | wc -l) = 2 ]; do sleep 0.1; done"  # fmt: skip
"""Waits for its peer, as a rendezvous does. Half a gang would wait for ever, and hold its cores."""


def test_four_gangs_submitted_at_once_all_train_though_one_and_a_half_fit(cluster: Cluster) -> None:
    cores = os.cpu_count() or 1
    files = []
    for name in ("gang-a", "gang-b", "gang-c", "gang-d"):
        job = build_light_job(name, MEET, workers=2)
        (container,) = job["spec"]["worker"]["template"]["spec"]["containers"]
        container["resources"] = {"requests": {"cpu": f"{cores * 300}m"}}
        files.append(cluster.write(job))
    submitted = cluster.paddock("submit", *files)
    assert submitted.code == 0, str(submitted)
    for name in ("gang-a", "gang-b", "gang-c", "gang-d"):
        until(f"{name} has completed", lambda name=name: cluster.phase(name) == "Completed")


def build_demanding_job(name: str, script: str, priority: str = "") -> dict[str, Any]:
    """Two ranks that together need most of the machine."""
    job = build_light_job(name, script, workers=2)
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": f"{(os.cpu_count() or 1) * 400}m"}}
    return job if not priority else {**job, "spec": {**job["spec"], "worker": {
        "replicas": 2, "template": {"spec": {**spec, "priorityClassName": priority}}}}}  # fmt: skip


COUNTS = """
step=$(cat $PADDOCK_OUTPUT_DIR/step.$PADDLE_TRAINER_ID 2>/dev/null || echo 0)
echo resumes at $step
until [ -e $PADDOCK_OUTPUT_DIR/go ]; do
  step=$((step + 1)); echo $step > $PADDOCK_OUTPUT_DIR/step.$PADDLE_TRAINER_ID; sleep 0.1
done
"""


@pytest.mark.slow
def test_a_gang_of_a_higher_priority_has_the_place_of_a_running_one_which_resumes_afterwards(cluster: Cluster) -> None:
    cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000,
    })  # fmt: skip
    first = cluster.paddock("submit", cluster.write(build_demanding_job("patient", COUNTS)))
    assert first.code == 0, str(first)
    until("it trains", lambda: cluster.phase("patient") == "Running" and any(cluster.output("patient").glob("step.*")))
    urgent = cluster.paddock("run", cluster.write(build_demanding_job("hurried", "echo done", "urgent")))
    assert urgent.code == 0, str(urgent)
    until(
        "it trains again", lambda: cluster.phase("patient") == "Running" and cluster.job("patient")["status"]["attempt"]
    )
    status = cluster.job("patient")["status"]
    assert status["attempt"] == 1 and not status.get("restarts"), status
    described = cluster.paddock("describe", "patient").out
    assert "preempted" in described, described
    cluster.let_go("patient")
    until("it has completed", lambda: cluster.phase("patient") == "Completed")
    logs = cluster.paddock("logs", "patient").out
    assert "resumes at 0" not in logs and "resumes at" in logs, logs
