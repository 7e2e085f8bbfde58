"""When the cluster stops by itself."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.app.idle import is_idle


def job(phase: str, uid: str = "a") -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "status": {"phase": phase}}


def pod(phase: str, owner: str = "") -> dict[str, Any]:
    references = [{"uid": owner, "controller": True, "kind": "PaddleJob", "name": "x"}] if owner else []
    return {"metadata": {"uid": "p", "ownerReferences": references}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("jobs", "pods", "seconds", "idle"),
    [
        ([], [], 600, True),
        ([], [], 599, False),
        ([job("Completed"), job("Failed", "b")], [], 600, True),
        ([job("Completed"), job("Running", "b")], [], 600, False),
        ([job("")], [], 600, False),  # not reconciled yet
        ([job("") | {"spec": {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}}], [], 600, True),
        ([job("Suspended")], [], 600, True),  # it does nothing until a user resumes it
        ([job("Invalid")], [], 600, True),  # it does nothing until a user edits it
        ([], [pod("Running")], 600, False),  # a pod of the user, without a job
        ([], [pod("Succeeded"), pod("Failed")], 600, True),
        ([job("Completed")], [pod("Running", "a")], 600, True),  # a server that cleanPodPolicy Never keeps
        ([job("Completed")], [pod("Running", "gone")], 600, False),
        ([{"metadata": {"uid": "a"}}], [{"metadata": {"uid": "p"}}], 600, False),  # no status at all
    ],
)
def test_the_cluster_is_idle_without_unfinished_jobs_and_clients(
    jobs: list[Any], pods: list[Any], seconds: float, idle: bool
) -> None:
    assert is_idle(jobs, pods, last_request=1000.0, now=1000.0 + seconds) is idle


@pytest.mark.parametrize(
    ("phase", "stops"), [("Fetching", False), ("Ready", True), ("Failed", True), ("Pending", True)]
)
def test_a_dataset_that_is_fetched_keeps_the_cluster_up(phase: str, stops: bool) -> None:
    assert is_idle([], [], 0.0, 10_000.0, datasets=[{"status": {"phase": phase}}]) is stops
