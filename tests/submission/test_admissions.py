"""Workloads and positions are asked for in the version that a cluster serves, and a reader without rights loses nothing
else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Get, List, Listing, T
from paddock.kube.errors import ApiError, Forbidden, InternalError, NotFound
from paddock.kube.kueue import VERSIONS, WORKLOADS, find_others
from paddock.kube.meta import PODS, Manifest, Resource
from paddock.submission.admissions import MOST_NAMESPACES, fetch_admissions
from views.test_workloads import QUOTA, build_workload, waiting

CAUSE = CauseRecord("WaitingForQueue", {"queue": "team-a"})
WORKLOAD = build_workload(**waiting("WaitingForQuota", QUOTA))
PENDING = {"items": [{"metadata": {"name": "job-demo"}, "positionInLocalQueue": 1}]}


class Cluster(Api):
    """Serves Kueue's kinds in these versions. `refuses`: what it answers for a group instead."""

    def __init__(self, *served: str, refuses: Mapping[str, ApiError] | None = None) -> None:
        self.served, self.refuses = served, refuses or {}
        self.asked: list[str] = []

    async def send(self, call: Call[T]) -> T:
        assert isinstance(call, Get | List)
        self.asked.append(f"{call.resource.group}/{call.resource.version}")
        if (error := self.refuses.get(call.resource.group)) is not None:
            raise error
        if call.resource.version not in self.served:
            raise NotFound("the server could not find the requested resource")
        answer: Any = Listing([WORKLOAD], "1") if isinstance(call, List) else PENDING
        return answer  # type: ignore[no-any-return]

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        raise AssertionError("nothing is watched")
        yield


async def tell(cluster: Cluster, cause: CauseRecord = CAUSE) -> str:
    job = build_manifest()
    admissions = await fetch_admissions(cluster, [(cause, job)])
    return explain(admissions.add(cause, RESOURCE, job), "en")


SAID = "number 2 in Kueue's queue team-a: it asks for 3 CPUs, and the quota lacks 2 CPUs in flavor default"
UNKNOWN = "waits for Kueue's queue team-a to admit it, and holds no devices"
VISIBILITY = "visibility.kueue.x-k8s.io"


@pytest.mark.parametrize(
    ("served", "said", "asked"),
    [(("v1beta2",), SAID, 2), (("v1beta1",), SAID, 4), (VERSIONS, SAID, 2), ((), UNKNOWN, 2)],
    ids=["v1beta2 alone", "v1beta1 alone", "both", "neither"],
)
async def test_the_newest_version_that_is_served_is_read(served: tuple[str, ...], said: str, asked: int) -> None:
    cluster = Cluster(*served)
    assert await tell(cluster) == said
    assert len(cluster.asked) == asked


@pytest.mark.parametrize("error", [Forbidden("no"), InternalError("etcd is away")])
async def test_what_may_not_be_read_leaves_the_operators_sentence(error: ApiError) -> None:
    assert await tell(Cluster(*VERSIONS, refuses={"kueue.x-k8s.io": error})) == UNKNOWN
    assert await tell(Cluster(*VERSIONS, refuses={VISIBILITY: error})) == SAID.replace("number 2 in", "waits for")


async def test_nothing_is_asked_where_no_job_waits_for_a_queue() -> None:
    cluster = Cluster(*VERSIONS)
    await tell(cluster, CauseRecord("Suspended"))
    assert not cluster.asked


async def test_the_number_of_requests_is_bounded_whatever_the_number_of_namespaces() -> None:
    jobs: list[Manifest] = [build_manifest() for _ in range(50)]
    for number, job in enumerate(jobs):
        job["metadata"]["namespace"] = f"team-{number}"
    cluster = Cluster(*VERSIONS)
    await fetch_admissions(cluster, [(CAUSE, job) for job in jobs])
    assert len(cluster.asked) == 2 * MOST_NAMESPACES


def test_only_kueues_kinds_have_other_versions() -> None:
    assert find_others(WORKLOADS[0]) == (WORKLOADS[1],)
    assert find_others(WORKLOADS[1]) == () and find_others(PODS) == ()
