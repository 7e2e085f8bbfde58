"""A gang that is smaller than wanted: its spare pods are refused by a quota, or its sizes are edited."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.model import Settings
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PODS, Manifest
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    have_pods,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until

SETTINGS = Settings(elastic_wait=1, elastic_settle=2)
QUOTA = 'pods "demo-worker-1" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1'
ASKED = ("create", "pods", "demo-worker-1")


async def place_first(cluster: LocalApi) -> None:
    """Kubernetes' scheduler has a node for the first rank alone."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "demo-worker-0", "namespace": "default"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "one"},
    }
    await cluster.create(PODS, binding, namespace="default", name="demo-worker-0", subresource="binding")


async def _told(cluster: LocalApi) -> Manifest | None:
    cause = (await status_of(cluster)).get("cause") or {}
    return cause["args"] if cause.get("reason") == "RunsSmaller" and cause["args"].get("message") else None


@pytest.mark.parametrize("edited", [None, "2-2"], ids=["not elastic any more", "at least two"])
async def test_a_small_gang_whose_sizes_are_edited_begins_again_whole(cluster: LocalApi, edited: str | None) -> None:
    """Its spare pod has the name of a rank that the job lacks from now on, and is no pod of it."""
    async with running(cluster, SETTINGS):
        await _have_small_gang(cluster)
        await until(lambda: have_pods(cluster, 2))
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"paddock.dev/elastic": edited}}})
        await until(lambda: _is_whole(cluster))


async def _is_whole(cluster: LocalApi) -> bool:
    for pod in (await cluster.list(PODS, "default")).items:
        if pod["metadata"].get("deletionTimestamp"):
            await cluster.delete(PODS, "default", pod["metadata"]["name"], grace=0)  # as its kubelet does
    labels = [pod["metadata"]["labels"] for pod in (await have_pods(cluster, 2)).values()]
    status = await status_of(cluster)
    whole = len(labels) == 2 and not any("paddock.dev/spare" in each for each in labels)
    return whole and status.get("attempt") == 2 and not status.get("gangSize")


async def test_a_quota_that_refuses_to_grow_is_told_and_asked_again_later(cluster: LocalApi) -> None:
    seam, refuses = Seam(cluster), False

    async def refuse(request: Request) -> None:
        if refuses and request[:3] == ASKED:
            raise Forbidden(QUOTA)

    def start_refusing() -> None:
        nonlocal refuses
        refuses = True

    seam.before = refuse
    async with running(seam, SETTINGS):
        await _have_small_gang(cluster, start_refusing)
        told = await until(lambda: _told(cluster))
        assert (told["size"], told["least"], told["most"], told["message"]) == (1, 1, 2, QUOTA)
        asked = seam.requests.count(ASKED)
        await settled(seam)
        assert seam.requests.count(ASKED) == asked, "no sooner than five seconds later"
        refuses = False
        await until(lambda: have_pods(cluster, 2))


async def _have_small_gang(cluster: LocalApi, shrunk: Callable[[], None] = lambda: None) -> None:
    """A gang of 1 of 1 to 2, whose rank runs. `shrunk`: is called before that rank has its pod."""
    job = build_job(ps=0, worker=2)
    job["metadata"]["annotations"] = {"paddock.dev/elastic": "1-2"}
    await cluster.create(JOBS, job)
    await until(lambda: have_pods(cluster, 2))
    await place_first(cluster)
    await until(lambda: _shrinks(cluster))
    await cluster.delete(PODS, "default", "demo-worker-0", grace=0)  # as its kubelet does
    await until(lambda: _begins_again(cluster))
    shrunk()
    await place_first(cluster)
    begun = {"status": {"startTime": "2026-01-01T00:00:00Z"}}
    await cluster.patch(PODS, "default", "demo-worker-0", begun, subresource="status")
    await set_phase(cluster, "demo-worker-0", "Running")


async def _begins_again(cluster: LocalApi) -> bool:
    found = await have_pods(cluster, 1)
    return [pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in found.values()] == ["1"]


async def _shrinks(cluster: LocalApi) -> bool:
    return (await status_of(cluster)).get("gangSize") == 1
