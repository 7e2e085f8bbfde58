"""A job of another manager is not touched: no pod, no status, no event, no annotation, no finalizer taken off."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.apis.registry import KUBEFLOW_PADDLE
from paddock.kube.api import Api
from paddock.kube.meta import CONFIG_MAPS, EVENTS, PODS, SERVICES, Manifest, owner_reference
from paddock.operator.metrics import Prometheus
from support.operator_seam import JOBS, Seam, build_job, have_pods, pods_of, running, settled, status_of
from support.waiting import until

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
LEGACY = "finalizers.paddlepaddle.org"
TO_US = {"spec": {"runPolicy": {"managedBy": None}}}
TO_OTHERS = {"spec": {"runPolicy": {"managedBy": MULTIKUEUE}}}


def build_other(name: str = "theirs", **policy: Any) -> Manifest:
    """With all that the operator would otherwise act on: a warning, a former operator's finalizer."""
    job = build_job(name, elastic=1, runPolicy={"managedBy": MULTIKUEUE, **policy})
    job["metadata"]["finalizers"] = [LEGACY]
    return job


def build_kubeflow(manager: str) -> Manifest:
    template = build_job()["spec"]["worker"]["template"]
    return {
        "apiVersion": KUBEFLOW_PADDLE.resource.api_version,
        "kind": "PaddleJob",
        "metadata": {"name": "theirs", "namespace": "default"},
        "spec": {
            "paddleReplicaSpecs": {"Worker": {"replicas": 1, "template": template}},
            "runPolicy": {"managedBy": manager},
        },
    }


async def create_child(api: Api, job: Manifest) -> None:
    """An object that the manager makes for its job: its event concerns the job."""
    metadata = {"name": "of-the-manager", "namespace": "default", "ownerReferences": [owner_reference(job)]}
    await api.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def requests_about(seam: Seam, name: str) -> set[tuple[str, str]]:
    """The requests for the job and what has its name, once the operator is done with all others."""
    await seam.create(JOBS, build_job("ours"))
    await until(lambda: have_pods(seam, 4, "ours"))
    await settled(seam)
    for resource in (PODS, SERVICES, CONFIG_MAPS, EVENTS):
        named = [each["metadata"]["name"] for each in (await seam.api.list(resource)).items]
        assert not [each for each in named if each.startswith(name)], resource.plural
    return {request[:2] for request in seam.requests if request[2].startswith(name)}


@pytest.mark.parametrize("policy", [{}, {"suspend": True}, {"ttlSecondsAfterFinished": 0}, {"managedBy": "a.b/c"}])
async def test_nothing_is_done_for_it(cluster: LocalApi, policy: dict[str, Any]) -> None:
    before = await cluster.create(JOBS, build_other(**policy))
    seam = Seam(cluster)
    async with running(seam):
        await cluster.patch(JOBS, "default", "theirs", {"metadata": {"annotations": {"an": "edit"}}})
        await create_child(cluster, before)
        asked = await requests_about(seam, "theirs")
    assert asked == {("get", "paddlejobs")}, "read live, as the cache may be behind"
    after = await cluster.get(JOBS, "default", "theirs")
    assert after["metadata"]["finalizers"] == [LEGACY]
    assert (after.get("status"), after["spec"]) == (before.get("status"), before["spec"])


async def test_its_status_is_its_managers_and_costs_no_request(cluster: LocalApi) -> None:
    """MultiKueue copies the status of another cluster's job, each time that it changes."""
    await cluster.create(JOBS, build_other())
    seam = Seam(cluster)
    async with running(seam):
        await requests_about(seam, "theirs")
        before = list(seam.requests)
        for attempt in range(3):
            theirs = {"status": {"phase": "Running", "attempt": attempt}}
            await cluster.patch(JOBS, "default", "theirs", theirs, subresource="status")
        await settled(seam)
        assert seam.requests == before
    assert await status_of(cluster, "theirs") == {"phase": "Running", "attempt": 2}


@pytest.mark.parametrize(("manager", "pods"), [(MULTIKUEUE, 0), ("kubeflow.org/training-operator", 1)])
async def test_of_kubeflows_kind_only_that_of_kubeflows_operator_is_ours(
    cluster: LocalApi, manager: str, pods: int
) -> None:
    seam = Seam(cluster)
    await cluster.create(KUBEFLOW_PADDLE.resource, build_kubeflow(manager))
    async with running(seam):
        await cluster.create(JOBS, build_job("ours"))
        await until(lambda: have_pods(cluster, 4, "ours"))
        await settled(seam)
    assert len(await pods_of(cluster, "theirs")) == pods


async def test_a_job_that_is_handed_to_us_is_run_and_one_that_is_handed_over_is_left(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_other("demo"))
        await settled(seam)
        await cluster.patch(JOBS, "default", "demo", TO_US)
        await until(lambda: have_pods(cluster, 4))
        await settled(seam)
        await cluster.patch(JOBS, "default", "demo", TO_OTHERS)
        await settled(seam)
        await cluster.delete(PODS, "default", "demo-worker-0", grace=0)
        await settled(seam)
    status = await status_of(cluster)
    assert status["attempt"] == 0, "a lost rank begins a new attempt of our own jobs alone"
    assert len(await pods_of(cluster)) == 3


async def test_it_gets_no_annotation_where_its_kind_is_halted(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    seam.answers = lambda request, answer: {**answer, "status": {}} if "status" in answer else answer
    theirs = await cluster.create(JOBS, build_other())
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: _is_halted(cluster))
        await create_child(cluster, theirs)
        await settled(seam)
    metadata = (await cluster.get(JOBS, "default", "theirs"))["metadata"]
    assert (metadata.get("annotations"), metadata["finalizers"]) == (None, [LEGACY])


async def _is_halted(api: LocalApi) -> bool:
    return any(event["reason"] == "StatusDropped" for event in (await api.list(EVENTS)).items)


async def test_it_is_counted_among_no_operators_jobs(cluster: LocalApi) -> None:
    measures = Prometheus("1")
    await cluster.create(JOBS, build_other())
    async with running(cluster, measures=measures):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        found = [line for line in measures.scrape()[0].decode().splitlines() if line.startswith("paddock_jobs{")]
    assert [line for line in found if not line.endswith(" 0.0")] == [
        'paddock_jobs{kind="paddlejobs.batch.paddlepaddle.org",phase="Pending"} 1.0'
    ]
