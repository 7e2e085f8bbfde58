"""The caches of the operator keep what a plan reads, and little more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.labels import AUTOSCALER_ANNOTATION
from paddock.jobs.model import Job, Observed, Settings
from paddock.jobs.objects.observation import View, find_children, read_held_port, read_observed
from paddock.jobs.objects.pod_groups import build_pod_group
from paddock.jobs.objects.pods import (
    DEFAULT_CONTAINER_ANNOTATION,
    build_config_map,
    build_pod,
    build_service,
    read_pod,
)
from paddock.jobs.policies.ports import choose_port
from paddock.kube.api import Event
from paddock.kube.errors import NotFound
from paddock.kube.meta import (
    AUTOSCALERS,
    CONFIG_MAPS,
    POD_GROUPS,
    PODS,
    SERVICES,
    Key,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
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
REFERENCE = {"apiVersion": JOB["apiVersion"], "kind": "PaddleJob", "name": "demo", "uid": "u-demo", "controller": True}
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
async def informers_of(
    *manifests: Manifest, pod_groups: Resource | None = None, autoscalers: Resource | None = None
) -> AsyncIterator[Informers]:
    world: Any = World(*manifests)
    informers = Informers(world, KINDS, pod_groups, lambda resource, manifest: None, autoscalers=autoscalers)
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
    "its claim is not bound": (
        {},
        {"volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": "data"}}]},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                         "message": "pod has unbound immediate PersistentVolumeClaims"}]},
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


class ListView:
    """The objects as the API has them."""

    def __init__(self, *objects: Manifest) -> None:
        self.objects = objects

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return next((each for each in self._of(resource) if key_of(each) == key), None)

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        return find_children(self._of(resource), owner, key)

    def _of(self, resource: Resource) -> Iterator[Manifest]:
        return (each for each in self.objects if (each["kind"], each["apiVersion"]) == kind_of(resource))


def kind_of(resource: Resource) -> tuple[str, str]:
    return resource.kind, resource.api_version


def build_all(job: Job) -> Iterator[Manifest]:
    """All that Paddock makes for a job."""
    yield from pods_of(job)
    yield from (build_service(job, rank) for rank in job.ranks())
    yield build_config_map(job, 1, dict.fromkeys(job.ranks(), "10.0.0.1"), None)
    scaler = {
        "name": "demo",
        "namespace": "n",
        "ownerReferences": [REFERENCE],
        "annotations": {AUTOSCALER_ANNOTATION: "x"},
    }
    yield {"apiVersion": AUTOSCALERS.api_version, "kind": AUTOSCALERS.kind, "metadata": scaler}
    group = build_pod_group(job, POD_GROUPS)
    conditions = [
        {"type": "Scheduled", "status": "True"},
        {"type": "Unschedulable", "status": "True", "message": "full"},
    ]
    yield {**group, "status": {"phase": "Pending", "conditions": conditions}}


def of_another_operator(pod: Manifest) -> Manifest:
    """As a pod of paddle-operator, which has none of our labels."""
    owner, role = controller_of(pod), pod["metadata"]["labels"]["paddock.dev/role"]
    marks = {"labels": {"paddle-res-type": role}, "ownerReferences": [owner]}
    return {**pod, "metadata": {"name": name_of(pod), "namespace": "n"} | marks}


OWNERS: dict[str, Callable[[Manifest], Manifest]] = {
    "the job": lambda child: child,
    "the job, and made by another operator": lambda child: (
        of_another_operator(child) if child["kind"] == "Pod" else child
    ),
    "a former job": lambda child: with_owner(child, uid="u-former"),
    "another job": lambda child: with_owner(child, uid="u-other", name="other"),
    "something else": lambda child: with_owner(child, apiVersion="apps/v1", kind="ReplicaSet", uid="u-web"),
    "nobody": lambda child: {**child, "metadata": child["metadata"] | {"ownerReferences": []}},
}
GOING = {
    "deletionTimestamp": "2026-01-01T00:00:30Z",
    "deletionGracePeriodSeconds": 30,
    "finalizers": ["scheduling.k8s.io/podgroup-protection"],
}


def with_owner(child: Manifest, **changes: str) -> Manifest:
    owner = {**(controller_of(child) or {}), **changes}
    return {**child, "metadata": child["metadata"] | {"ownerReferences": [owner]}}


def observe(job: Job, view: View) -> Observed:
    """Without the notes of what is not the job's: nothing is decided on them."""
    found = read_observed(job, 1, view, pod_groups=POD_GROUPS, autoscalers=AUTOSCALERS)
    scaler = found.autoscaler
    return replace(
        found,
        foreign=tuple(replace(child, addresses="", asked="") for child in found.foreign),
        autoscaler=scaler if scaler is None or scaler.owned else replace(scaler, asked=""),
    )


@pytest.mark.parametrize("going", [{}, GOING], ids=["there", "going"])
@pytest.mark.parametrize("owned", OWNERS.values(), ids=OWNERS)
async def test_what_is_kept_of_children_reads_as_they_do(
    owned: Callable[[Manifest], Manifest], going: Manifest
) -> None:
    job = PADDLEPADDLE.read_job(JOB)
    there = [
        {**child, "metadata": child["metadata"] | going | {"uid": f"u-{number}", "resourceVersion": str(number)}}
        for number, child in enumerate(map(owned, build_all(job)))
    ]
    whole = observe(job, ListView(*there))
    async with informers_of(*there, pod_groups=POD_GROUPS, autoscalers=AUTOSCALERS) as informers:
        assert observe(job, informers) == whole
        for child in there:
            kept = informers.get(resource_of(child), key_of(child))
            assert kept is not None
            assert (uid_of(kept), version_of(kept)) == (uid_of(child), version_of(child))
    assert [each.resource for each in (whole.pod_group, *whole.foreign) if each].count(POD_GROUPS) == 1
    assert whole.autoscaler is not None
    assert len(whole.foreign or whole.pods) >= 2


def label_all(count: int) -> dict[str, str]:
    return {f"{number:05}.{'p' * 240}/{'k' * 63}": "v" * 63 for number in range(count)}


LONG = "x" * 100_000
STRANGERS: dict[str, dict[str, Any]] = {
    "of no job": {"ownerReferences": []},
    "of a job": {"ownerReferences": [REFERENCE]},
    "of a long name": {"ownerReferences": [{**REFERENCE, "name": LONG}]},
    "of a long UID": {"ownerReferences": [{**REFERENCE, "uid": LONG}]},
    "of a long version": {"ownerReferences": [{**REFERENCE, "apiVersion": f"batch.paddlepaddle.org/{LONG}"}]},
    "of many": {"ownerReferences": [REFERENCE, *({**REFERENCE, "controller": False, "uid": LONG} for _ in range(3))]},
}


@pytest.mark.parametrize("resource", [PODS, SERVICES, CONFIG_MAPS, AUTOSCALERS, POD_GROUPS], ids=lambda each: each.kind)
@pytest.mark.parametrize("owner", STRANGERS.values(), ids=STRANGERS)
async def test_nothing_is_kept_whose_size_a_stranger_chooses(resource: Resource, owner: dict[str, Any]) -> None:
    notes = dict.fromkeys(("paddock.dev/port", "paddock.dev/addresses", "paddock.dev/other", "paddle-resource"), LONG)
    metadata = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generateName": LONG,
                "labels": label_all(1000), "annotations": notes | LARGE, "finalizers": list(label_all(100)),
                "managedFields": [{"manager": LONG}], **owner}  # fmt: skip
    spec = {"minResources": {**dict.fromkeys(map(str, range(1000)), "1"), LONG: "1"}} if resource == POD_GROUPS else {}
    more: Manifest = {"data": {"a": LONG}} if resource == CONFIG_MAPS else {"spec": spec}
    if resource == POD_GROUPS:
        more["status"] = {"phase": LONG, "conditions": [{"type": "Unschedulable", "status": "True", "message": LONG}]}
    told = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **more}
    async with informers_of(told, pod_groups=POD_GROUPS, autoscalers=AUTOSCALERS) as informers:
        kept = informers.get(resource, key_of(told))
        assert kept is not None
        assert (uid_of(kept), version_of(kept)) == ("u", "7")
        assert informers.children(resource, PADDLEPADDLE.resource, Key("n", LONG)) == []
        assert len(json.dumps(kept)) < (8000 if resource == POD_GROUPS else 2000)


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
    async with informers_of(JOB, *pods) as informers:
        assert informers.held_ports(excluding="u-other") == {41000}
        assert informers.held_ports(excluding="u-demo") == frozenset()
    async with informers_of(JOB, *(pod | {"status": {"phase": "Succeeded"}} for pod in pods)) as informers:
        assert informers.held_ports(excluding="u-other") == frozenset()


def with_port(number: int, port: int, **metadata: Any) -> Manifest:
    """A pod that anybody may make: nothing places it."""
    pod = next(pods_of(PADDLEPADDLE.read_job(JOB)))
    named = {"name": f"p{number}", "uid": f"p{number}", "annotations": {"paddock.dev/port": str(port)}}
    return {**pod, "metadata": pod["metadata"] | named | metadata}


FORGED: dict[str, tuple[dict[str, Any], int]] = {
    "no owner": ({"ownerReferences": []}, 0),
    "an owner of another kind": (
        {"ownerReferences": [{**REFERENCE, "kind": "ReplicaSet", "apiVersion": "apps/v1"}]},
        0,
    ),
    "a job that does not exist": ({"ownerReferences": [{**REFERENCE, "uid": "u-none"}]}, 0),
    "a job of another namespace": ({"namespace": "theirs"}, 0),
    "their own job": ({"namespace": "theirs", "ownerReferences": [{**REFERENCE, "uid": "u-theirs"}]}, 4),
}


@pytest.mark.parametrize(("forged", "counted"), FORGED.values(), ids=FORGED)
async def test_ports_are_left_whatever_a_tenant_writes_on_his_pods(forged: dict[str, Any], counted: int) -> None:
    pods = [with_port(number, port, **forged) for number, port in enumerate(range(20_000, 30_000, 20))]
    theirs = {**JOB, "metadata": {"name": "demo", "namespace": "theirs", "uid": "u-theirs"}}
    async with informers_of(JOB, theirs, *pods) as informers:
        held = informers.held_ports(excluding="u-new")
    assert len(held) == counted
    assert choose_port("u-new", 0, held) is not None


async def test_the_ports_of_a_job_and_of_its_former_attempt_are_both_held() -> None:
    async with informers_of(JOB, with_port(0, 20_100), with_port(1, 20_300)) as informers:
        assert informers.held_ports(excluding="u-other") == {20_100, 20_300}


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
    known = (PODS, SERVICES, CONFIG_MAPS, AUTOSCALERS, PADDLEPADDLE.resource, POD_GROUPS)
    return next(each for each in known if each.kind == manifest["kind"])


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
