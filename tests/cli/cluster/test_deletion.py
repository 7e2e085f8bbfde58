"""`paddock delete` waits for its stated time, and says then what holds the job or its pods; `suspend --now` kills."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from paddock.cli.cluster.deletion import MARGIN, Pace, delete_job
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.follow.changes import Change, change_jobs
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Phase, Status
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Delete, Get, List, Listing, Patch, T
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, Resource
from paddock.kube.patches import merge_patch
from paddock.views.flags import Flags
from paddock.views.stored import read_stored

JOB: Manifest = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "metadata": {"name": "train", "namespace": "lab", "uid": "u"},
    "spec": {"worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "paddle", "image": "i"}]}}}},
}
OWNER = {"apiVersion": "v1", "kind": "PaddleJob", "name": "train", "uid": "u", "controller": True}


def build_pod(name: str = "train-worker-0", grace: int = 4, **meta: Any) -> Manifest:
    metadata = {"name": name, "namespace": "lab", "uid": name, "ownerReferences": [OWNER], **meta}
    return {"metadata": metadata, "spec": {"terminationGracePeriodSeconds": grace, "nodeName": "n1"}, "status": {}}


class Cluster(Api):
    """It has the job and its pods, and removes what `goes` says when the clock is there."""

    def __init__(self, *pods: Manifest, goes: Mapping[str, float], job: Manifest = JOB) -> None:
        self.clock, self.pods, self.job, self.goes = 0.0, pods, job, goes
        self.deleted: list[tuple[str, int | None]] = []

    async def send(self, call: Call[T]) -> T:
        answer: Any = {}
        if isinstance(call, List):
            assert call.resource == PODS
            answer = Listing([pod for pod in self.pods if self.is_there(pod["metadata"]["name"])])
        elif isinstance(call, Get):
            if not self.is_there("train"):
                raise NotFound("gone")
            answer = self.job
        elif isinstance(call, Delete):
            self.deleted.append((call.name, call.grace))
        elif isinstance(call, Patch):
            assert isinstance(call.patch, Mapping)
            self.job = answer = merge_patch(self.job, {**call.patch, "metadata": {}})
        return answer  # type: ignore[no-any-return]

    def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        raise AssertionError

    def is_there(self, name: str) -> bool:
        return self.clock < self.goes.get(name, float("inf"))

    async def sleep(self, seconds: float) -> None:
        assert self.clock < 1000, "the wait has an end"
        self.clock += seconds

    @property
    def pace(self) -> Pace:
        return Pace(lambda: self.clock, self.sleep)


def delete(cluster: Cluster, **options: Any) -> tuple[str, list[str]]:
    """What holds the job in the end, empty if nothing does; what was said before."""
    told: list[str] = []
    work = delete_job(cluster, read_stored(PADDLEPADDLE.resource, JOB), pace=cluster.pace,
                      notify=lambda said: told.append(str(said)), **options)  # fmt: skip
    held = asyncio.run(work)
    return str(held or ""), told


def test_a_job_that_goes_in_time_is_gone() -> None:
    cluster = Cluster(build_pod(), goes={"train": 0.0, "train-worker-0": 4.5})
    assert delete(cluster) == ("", ["waiting up to 4 s for its ranks to end; --now kills them"])
    assert 4.5 <= cluster.clock < 6 and cluster.deleted == [("train", None)]


@pytest.mark.parametrize(
    ("meta", "goes", "why"),
    [
        ({}, {"train": 0.0}, "pod train-worker-0 is not being deleted: the cluster's garbage collector, a part of "
         "kube-controller-manager, has not done it (`kubectl delete pod train-worker-0 -n lab` does)"),
        ({"deletionTimestamp": "t", "finalizers": ["team/keep"]}, {"train": 0.0},
         "pod train-worker-0 is held by team/keep: whoever set this finalizer is to remove it (`kubectl get pod "
         "train-worker-0 -n lab -o yaml` shows the pod)"),
        ({"deletionTimestamp": "t"}, {"train": 0.0},
         "pod train-worker-0 has not ended in its 4 s: its node, n1, has not said so (`kubectl get node n1` shows the "
         "node)"),
        ({}, {"train-worker-0": 1.0}, "paddlejob/train is held by team/audit: whoever set this finalizer is to remove "
         "it (`kubectl get paddlejob/train -n lab -o yaml` shows it)"),
    ],
)  # fmt: skip
def test_what_holds_it_is_said_once_its_time_is_over(meta: Any, goes: Any, why: str) -> None:
    job = {**JOB, "metadata": {**JOB["metadata"], "finalizers": ["team/audit"]}}
    cluster = Cluster(build_pod(**meta), goes=goes, job=job)
    held, _ = delete(cluster, flags=Attended.flags)
    assert held == f"paddlejob/train is deleted, and not gone after {round(cluster.clock)} s: {why}"
    assert 4 + MARGIN <= cluster.clock <= 4 + MARGIN + 2


def test_killed_pods_have_a_second() -> None:
    cluster = Cluster(build_pod(grace=600, deletionTimestamp="t"), goes={"train": 0.0})
    held, told = delete(cluster, now=True)
    assert "not gone after" in held and told == [] and cluster.clock < 1 + MARGIN + 2
    assert cluster.deleted == [("train", None), ("train-worker-0", 1)]


def test_who_does_not_wait_is_told_nothing() -> None:
    cluster = Cluster(build_pod(), goes={})
    assert delete(cluster, wait=False) == ("", []) and cluster.clock == 0


class Attended:
    """A place whose operator always lives."""

    home = None
    flags = Flags(" --context c", "default", "kubectl")

    async def attend(self, *_: Any) -> None:
        await asyncio.Event().wait()


def change(cluster: Cluster, verb: str, *, now: bool = False) -> str:
    """Why it failed; empty if it did not."""
    stored = read_stored(PADDLEPADDLE.resource, JOB)
    place: Any = Attended()
    client: Any = cluster
    try:
        asyncio.run(Change(client, place, verb, "", wait=True, now=now, pace=cluster.pace).apply(stored))
    except Failed as failed:
        return str(failed)
    return ""


SUSPENDED = {**JOB, "status": PADDLEPADDLE.write_status({}, Status(phase=Phase.SUSPENDED), 1.0, JOB)}


def test_suspend_now_kills_the_ranks_once_it_is_recorded() -> None:
    cluster = Cluster(build_pod(), goes={"train-worker-0": 2.0}, job=SUSPENDED)
    assert change(cluster, "suspend", now=True) == ""
    assert cluster.deleted == [("train-worker-0", 1)]
    gentle = Cluster(build_pod(), goes={"train-worker-0": 2.0}, job=SUSPENDED)
    assert change(gentle, "suspend") == "" and gentle.deleted == []


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({}, "nothing ends train-worker-0, as the job's cleanPodPolicy keeps pods: `paddock suspend train --context c "
         "-n lab --now` kills them"),
        ({"deletionTimestamp": "t", "finalizers": ["team/keep"]}, "pod train-worker-0 is held by team/keep: whoever"),
    ],
)  # fmt: skip
def test_ranks_that_do_not_end_in_their_time_are_said(meta: Any, why: str) -> None:
    cluster = Cluster(build_pod(**meta), goes={}, job=SUSPENDED)
    said = change(cluster, "suspend")
    assert said.startswith("paddlejob/train suspended, and its ranks have not ended after ") and why in said


def test_now_needs_the_wait() -> None:
    with pytest.raises(UserError, match="--no-wait"):
        change_jobs("cancel", ("a",), "default", wait=False, now=True)
