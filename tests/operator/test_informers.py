"""The caches of the operator keep what a plan reads, and little more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.model import Job, Settings
from paddock.jobs.objects.observation import read_held_port
from paddock.jobs.objects.pods import (
    DEFAULT_CONTAINER_ANNOTATION,
    build_config_map,
    build_pod,
    build_service,
    read_pod,
)
from paddock.kube.api import Event
from paddock.kube.errors import NotFound
from paddock.kube.meta import (
    CONFIG_MAPS,
    POD_GROUPS,
    PODS,
    SERVICES,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
    is_deleting,
    key_of,
    name_of,
    uid_of,
    version_of,
)
from paddock.operator.informers import Informers
from support.waiting import LoopClock

JOB: Manifest = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "metadata": {"name": "demo", "namespace": "n", "uid": "u-demo", "managedFields": [{"manager": "kubectl"}]},
    "spec": {
        "ps": {"replicas": 1, "template": {"spec": {"containers": [{"name": "paddle", "image": "i"}]}}},
        "worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "log"}, {"name": "paddle"}]}}},
    },
    "status": {"phase": "Running", "attempt": 2, "worker": {"running": 1}},
}
for _container in JOB["spec"]["worker"]["template"]["spec"]["containers"]:
    _container["image"] = "i"


class World:
    """An API with `follow` only: it delivers the events of the test."""

    def __init__(self, *manifests: Manifest) -> None:
        self._manifests = manifests

    async def follow(self, resource: Resource, *_: Any, **__: Any) -> AsyncIterator[Event]:
        for manifest in self._manifests:
            if manifest["kind"] == resource.kind and manifest["apiVersion"] == resource.api_version:
                yield Event("ADDED", manifest)
        yield Event("SYNCED", {})
        await asyncio.Event().wait()


@asynccontextmanager
async def informers_of(*manifests: Manifest) -> AsyncIterator[Informers]:
    informers = Informers(World(*manifests), KINDS, None, lambda resource, manifest: None)  # type: ignore[arg-type]
    following = asyncio.create_task(informers.follow())
    try:
        async with asyncio.timeout(180):
            await informers.synced()
        yield informers
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def state(name: str, **value: Any) -> Manifest:
    return {"name": name, "ready": "running" in value, "state": value}


ENDED = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T00:01:00Z"}
STATUSES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "new": ({}, {}, {}),
    "placed": ({}, {"nodeName": "a"}, {"phase": "Pending"}),
    "making its image": (
        {},
        {"nodeName": "a"},
        {"phase": "Pending", "initContainerStatuses": [state("paddle", running={})]},
    ),
    "running": (
        {},
        {"nodeName": "a"},
        {"phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-01-01T00:00:00Z",
         "containerStatuses": [state("log", running={}), state("paddle", running={})]},
    ),
    "its program has ended, its side-car has not": (
        {},
        {"nodeName": "a"},
        {"phase": "Running", "containerStatuses": [state("log", running={}), state("paddle", terminated=ENDED)]},
    ),
    "evicted": ({}, {}, {"phase": "Failed", "reason": "Evicted", "message": "disk"}),
    "going": ({"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 0}, {"nodeName": "a"}, {}),
    "nowhere to go": (
        {},
        {},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]},
    ),
}  # fmt: skip


def pods_of(job: Job) -> Iterator[Manifest]:
    for rank in job.ranks():
        yield build_pod(job, rank, 1, 41000, Settings())


@pytest.mark.parametrize(("metadata", "spec", "status"), STATUSES.values(), ids=STATUSES)
async def test_a_trimmed_pod_reads_as_the_pod_itself(
    metadata: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]
) -> None:
    pods = [
        pod | {"metadata": {**pod["metadata"], "uid": name_of(pod), "managedFields": [{"manager": "x"}], **metadata},
               "spec": {**pod["spec"], **spec}, "status": status}
        for pod in pods_of(PADDLEPADDLE.read_job(JOB))
    ]  # fmt: skip
    async with informers_of(*pods) as informers:
        for pod in pods:
            kept = informers.get(PODS, key_of(pod))
            assert kept is not None
            assert read_pod(kept) == read_pod(pod)
            assert read_held_port(kept) == read_held_port(pod)
        assert len(informers.children(PODS, PADDLEPADDLE.resource, key_of(JOB))) == len(pods)


async def test_of_other_children_the_metadata_is_kept_without_managed_fields() -> None:
    job = PADDLEPADDLE.read_job(JOB)
    children = [build_service(job, rank) for rank in job.ranks()]
    children.append(build_config_map(job, 0, dict.fromkeys(job.ranks(), "10.0.0.1"), None))
    told = [each | {"metadata": {**each["metadata"], "uid": "u", "managedFields": [{"manager": "x"}]}}
            for each in children]  # fmt: skip
    async with informers_of(*told) as informers:
        kept = [
            child
            for kind in (SERVICES, CONFIG_MAPS)
            for child in informers.children(kind, PADDLEPADDLE.resource, key_of(JOB))
        ]
    expected = [{"apiVersion": each["apiVersion"], "kind": each["kind"], "metadata": {**each["metadata"], "uid": "u"}}
                for each in children]  # fmt: skip
    assert kept == expected


async def test_of_a_job_all_that_a_reconcile_reads_is_kept() -> None:
    async with informers_of(JOB) as informers:
        kept = informers.get(PADDLEPADDLE.resource, key_of(JOB))
    assert kept is not None
    assert PADDLEPADDLE.read_status(kept) == PADDLEPADDLE.read_status(JOB)
    assert PADDLEPADDLE.read_job(kept) == PADDLEPADDLE.read_job(JOB)
    assert "managedFields" not in kept["metadata"]


async def test_of_somebody_else_s_job_the_templates_are_not_kept() -> None:
    theirs = {**JOB, "spec": {**JOB["spec"], "runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}}
    async with informers_of(theirs) as informers:
        kept = informers.get(PADDLEPADDLE.resource, key_of(JOB))
    assert kept is not None
    assert kept["spec"] == {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}


async def test_ports_are_held_by_other_jobs_pods_until_those_have_ended() -> None:
    pods = list(pods_of(PADDLEPADDLE.read_job(JOB)))
    async with informers_of(*pods) as informers:
        assert informers.held_ports(excluding="u-other") == {41000}
        assert informers.held_ports(excluding="u-demo") == frozenset()
    async with informers_of(*(pod | {"status": {"phase": "Succeeded"}} for pod in pods)) as informers:
        assert informers.held_ports(excluding="u-other") == frozenset()


LARGE = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 200_000}


async def test_annotations_that_nobody_reads_are_not_kept() -> None:
    job = PADDLEPADDLE.read_job(JOB)
    children = [*pods_of(job), build_config_map(job, 0, dict.fromkeys(job.ranks(), "10.0.0.1"), None), JOB]
    for each in children:
        # kubectl reads it, and the embedded kubelet; the operator knows by the pod's owner which container trains
        own = {name: text for name, text in annotations_of(each).items() if name != DEFAULT_CONTAINER_ANNOTATION}
        read = {**own, "paddle-resource": "worker"}
        told = each | {"metadata": {**each["metadata"], "annotations": annotations_of(each) | read | LARGE}}
        async with informers_of(told) as informers:
            kept = informers.get(resource_of(each), key_of(each))
        assert kept is not None
        assert annotations_of(kept) == read


def resource_of(manifest: Manifest) -> Resource:
    known = {"Pod": PODS, "ConfigMap": CONFIG_MAPS, "PaddleJob": PADDLEPADDLE.resource, "PodGroup": POD_GROUPS}
    return known[manifest["kind"]]


@pytest.mark.parametrize("owner", [{}, {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}])
async def test_of_pods_of_no_job_the_identity_and_the_port_are_kept(owner: Manifest) -> None:
    pod = next(pods_of(PADDLEPADDLE.read_job(JOB)))
    own = {"ownerReferences": [{**owner, "uid": "u-web", "controller": True}]} if owner else {}
    metadata = {name: value for name, value in pod["metadata"].items() if name != "ownerReferences"} | own
    metadata |= {"uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:30Z"}
    metadata["annotations"] = {**metadata["annotations"], **LARGE, "other.org/note": "x"}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "message": "x" * 1000}]}
    told = pod | {"metadata": metadata, "status": status}
    async with informers_of(told) as informers:
        kept = informers.get(PODS, key_of(pod))
        assert informers.held_ports(excluding="u-demo") == {41000}
    assert kept is not None
    assert read_held_port(kept) == 41000
    assert (uid_of(kept), version_of(kept), is_deleting(kept)) == ("u", "7", True)
    assert controller_of(kept) == controller_of(told)
    assert len(json.dumps(kept)) < 800


class Vanishing(World):
    """Serves PodGroups, does not when `gone` is set, and does again."""

    def __init__(self, group: Manifest) -> None:
        super().__init__()
        self.group = group
        self.gone, self.lists = asyncio.Event(), 0

    async def follow(self, resource: Resource, *names: Any, **more: Any) -> AsyncIterator[Event]:
        if resource != POD_GROUPS:
            async for event in super().follow(resource, *names, **more):
                yield event
        self.lists += 1
        if self.lists in (2, 4):
            raise NotFound("the server could not find the requested resource")
        yield Event("ADDED", self.group)
        yield Event("SYNCED", {})
        await self.gone.wait()
        self.gone.clear()
        raise NotFound("the server could not find the requested resource")


async def test_a_kind_that_vanishes_is_told_each_time_and_forgotten_and_its_return_wakes_all_jobs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    owner = {"apiVersion": JOB["apiVersion"], "kind": "PaddleJob", "name": "demo", "uid": "u-demo", "controller": True}
    group = {"apiVersion": POD_GROUPS.api_version, "kind": "PodGroup", "spec": {"minMember": 2},
             "metadata": {"name": "demo", "namespace": "n", "uid": "u-group", "ownerReferences": [owner]}}  # fmt: skip
    api, changed, served, clock = Vanishing(group), [], asyncio.Event(), LoopClock()
    informers = Informers(
        api,  # type: ignore[arg-type]
        KINDS,
        POD_GROUPS,
        lambda resource, manifest: changed.append(uid_of(manifest)),
        on_served=served.set,
    )
    following = asyncio.create_task(informers.follow())
    try:
        async with asyncio.timeout(60):
            await informers.synced()
            for time in (1, 2):
                assert informers.get(POD_GROUPS, key_of(group)) is not None
                assert changed == ["u-group"] * (2 * time - 1)
                api.gone.set()
                while not served.is_set():
                    await clock.advance(0.5)
                served.clear()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    said = [line.partition(":")[0] for line in caplog.messages if "podgroups" in line]
    name = POD_GROUPS.qualified
    assert said == [f"{name} is not served by this cluster", f"{name} is served now"] * 2
