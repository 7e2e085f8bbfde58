"""Gangs of a scheduler beside Kubernetes' own: what is made for it, and how its absence is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.kinds import build_pod_group_crd
from paddock.jobs.model import Settings
from paddock.kube.meta import CRDS, POD_GROUPS, PODS, VOLCANO_POD_GROUPS, Manifest
from support.operator_seam import JOBS, Seam, build_job, have_pods, open_cluster, running, settled, status_of
from support.waiting import until

PLUGINS = Settings(pod_groups=POD_GROUPS, gang_scheduler="scheduler-plugins-scheduler")
SOON = 1.0
"""Seconds until a scheduler is taken for absent; times of the API are whole seconds."""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        for resource in (POD_GROUPS, VOLCANO_POD_GROUPS):
            await api.create(CRDS, build_pod_group_crd(resource))
        yield api


def build_named(scheduler: str, **spec: Any) -> Manifest:
    job = build_job(**spec)
    for role in ("ps", "worker"):
        job["spec"][role]["template"]["spec"]["schedulerName"] = scheduler
    return job


async def test_a_gang_of_the_scheduler_plugins_names_them_and_has_its_timeout(cluster: LocalApi) -> None:
    async with running(cluster, PLUGINS):
        await cluster.create(JOBS, build_job(schedulingPolicy={"scheduleTimeoutSeconds": 90}))
        pods = await until(lambda: have_pods(cluster, 4))
        group = await cluster.get(POD_GROUPS, "default", "demo")
    assert (group["spec"]["minMember"], group["spec"]["scheduleTimeoutSeconds"]) == (4, 90)
    assert {pod["spec"]["schedulerName"] for pod in pods.values()} == {"scheduler-plugins-scheduler"}
    assert {pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in pods.values()} == {"demo"}


async def test_a_job_of_the_default_scheduler_has_no_gang(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam, PLUGINS):
        await cluster.create(JOBS, build_named("default-scheduler"))
        pods = await until(lambda: have_pods(cluster, 4))
        await settled(seam)
    assert (await cluster.list(POD_GROUPS)).items == []
    assert not any("scheduling" in key for pod in pods.values() for key in pod["metadata"]["labels"])


async def cause_of(api: LocalApi, reason: str) -> Manifest | None:
    cause = (await status_of(api)).get("cause") or {}
    return cause if cause.get("reason") == reason else None


async def says(api: LocalApi, reason: str, args: Manifest) -> bool:
    cause = await cause_of(api, reason)
    return cause is not None and cause["args"] == args


async def test_a_scheduler_that_nobody_runs_is_told_until_it_looks_at_a_pod(cluster: LocalApi) -> None:
    async with running(cluster, Settings(scheduler_wait=SOON)):
        await cluster.create(JOBS, build_named("theirs"))
        await until(lambda: have_pods(cluster, 4))
        # Each pod counts once it has waited: on a slow machine the last is created a second after the first.
        silent = {"scheduler": "theirs", "pods": 4, "wanted": 4, "seconds": 1}
        await until(lambda: says(cluster, "SchedulerSilent", silent))
        why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
        await cluster.patch(PODS, "default", "demo-ps-0", {"status": {"conditions": [why]}}, subresource="status")
        await until(lambda: cause_of(cluster, "WaitingForScheduler"))


async def test_volcano_that_holds_a_gang_in_its_queue_is_there(cluster: LocalApi) -> None:
    settings = Settings(pod_groups=VOLCANO_POD_GROUPS, gang_scheduler="volcano", scheduler_wait=SOON)
    async with running(cluster, settings):
        await cluster.create(JOBS, build_job())
        await until(lambda: cause_of(cluster, "SchedulerSilent"))
        pending = {"status": {"phase": "Pending"}}
        await cluster.patch(VOLCANO_POD_GROUPS, "default", "demo", pending, subresource="status")
        await until(lambda: cause_of(cluster, "WaitingForPodGroup"))


async def test_kubernetes_own_scheduler_is_not_doubted(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam, Settings(scheduler_wait=0.0)):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        await settled(seam)
    assert await cause_of(cluster, "WaitingForAddresses")
