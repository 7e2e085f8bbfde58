"""Ranks above their limit of memory, told by the events of their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from cli.views import RESOURCE, build_manifest
from paddock.cli.follow.above_limits import fetch_above
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, Listing, T
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PODS, Manifest, Resource
from paddock.views.stored import read_stored

SAID = "uses 2.4 GiB, its limit is 2.0 GiB: a cluster would have ended it (OOMKilled)"


class Cluster(Api):
    def __init__(self, pods: list[Manifest], events: list[Manifest]) -> None:
        self.pods, self.events, self.refuses = pods, events, False

    async def send(self, call: Call[T]) -> T:
        assert isinstance(call, List)
        if self.refuses:
            raise Forbidden("you may not")
        return Listing(self.pods if call.resource == PODS else self.events, "1")  # type: ignore[return-value]

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        raise AssertionError
        yield  # type: ignore[unreachable]


async def test_each_rank_of_the_job_is_told_once_and_no_other_pod() -> None:
    job = build_manifest()
    job["metadata"]["uid"] = "j"
    owner = {"apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind, "name": "demo", "uid": "j", "controller": True}
    labels = {"paddock.dev/role": "worker"}
    pods: list[Manifest] = [
        {"metadata": {"name": f"demo-worker-{index}", "uid": f"u{index}", "labels": labels, "ownerReferences": [owner]}}
        for index in range(2)
    ]
    events: list[Manifest] = [{"involvedObject": {"uid": uid}, "message": SAID} for uid in ("u1", "other", "u1")]
    cluster, stored = Cluster(pods, events), read_stored(RESOURCE, job)
    assert list(map(str, await fetch_above(cluster, stored))) == [f"worker-1 {SAID}"]
    cluster.refuses = True
    assert await fetch_above(cluster, stored) == []
