"""The scheduler against the embedded API: binds, conditions, PodGroups; no write at rest, and few plans for a burst."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from node.cluster_objects import group, node, pod
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Patch, T
from paddock.kube.errors import Unavailable
from paddock.kube.meta import (
    CRDS,
    EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    name_of,
)
from paddock.node.scheduler.scheduler import Scheduler
from support.waiting import until


def crd(resource: Resource) -> Manifest:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "plural": resource.plural,
                "singular": "podgroup",
                "kind": "PodGroup",
                "listKind": "PodGroupList",
            },
            "versions": [version],
        },
    }


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(tmp_path)
    yield api
    await api.close()


@pytest.fixture
async def scheduler(api: LocalApi) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(api)
    task = asyncio.create_task(scheduler.run())
    yield scheduler
    assert not task.done(), "the scheduler ended by itself"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def sentence(manifest: Manifest) -> str:
    for condition in manifest["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition["message"])
    return ""


async def bound(api: LocalApi) -> dict[str, str]:
    pods = (await api.list(PODS)).items
    return {name_of(manifest): manifest["spec"]["nodeName"] for manifest in pods if manifest["spec"].get("nodeName")}


async def reported_reason(api: LocalApi, name: str) -> str:
    return await until(lambda: _sentence_of(api, name))


async def _sentence_of(api: LocalApi, name: str) -> str:
    return sentence(await api.get(PODS, "default", name))


async def test_a_pod_that_fits_is_bound(api: LocalApi, scheduler: Scheduler) -> None:
    await api.create(NODES, node())
    await api.create(PODS, pod())
    assert await until(lambda: bound(api)) == {"x": "laptop"}


async def test_a_pod_that_was_bound_has_an_event_that_says_where(api: LocalApi, scheduler: Scheduler) -> None:
    await api.create(NODES, node())
    await api.create(PODS, pod())
    (event,) = await until(lambda: _events(api))
    assert (event["type"], event["reason"]) == ("Normal", "Scheduled")
    assert event["message"] == "Successfully assigned default/x to laptop"
    assert event["involvedObject"]["uid"] == (await api.get(PODS, "default", "x"))["metadata"]["uid"]


async def test_a_pod_that_does_not_fit_is_reported_once_with_an_event_and_bound_when_it_does(
    api: LocalApi, scheduler: Scheduler
) -> None:
    await api.create(NODES, node(cpu="1"))
    await api.create(PODS, pod(requests={"cpu": "2"}))
    wanted = "0/1 nodes are available: 1 Insufficient cpu (needs 2, 1 of 1 free)."
    assert await reported_reason(api, "x") == wanted
    events = await until(lambda: _events(api))
    assert [(event["reason"], event["message"], event["involvedObject"]["name"]) for event in events] == [
        ("FailedScheduling", wanted, "x")
    ]
    await api.create(PODS, pod("other"))  # planned for again: the same sentence is not written again
    await until(lambda: _is_bound(api, "other"))
    await api.create(NODES, node("server"))
    await until(lambda: _is_bound(api, "x"))
    assert [event["reason"] for event in await _events(api)].count("FailedScheduling") == 1
    assert sentence(await api.get(PODS, "default", "x")) == ""


async def _events(api: LocalApi) -> list[Manifest]:
    return (await api.list(EVENTS)).items


async def _is_bound(api: LocalApi, name: str) -> bool:
    return name in await bound(api)


@pytest.mark.parametrize(
    ("resource", "volcano", "phase"),
    [(POD_GROUPS, False, "Scheduling"), (VOLCANO_POD_GROUPS, True, "Running")],
    ids=["scheduler plugins", "Volcano"],
)
async def test_a_gang_whose_crd_and_group_come_later_is_bound_whole_and_its_group_says_so(
    api: LocalApi, scheduler: Scheduler, resource: Resource, volcano: bool, phase: str
) -> None:
    await api.create(NODES, node())
    link = {"volcano": "train"} if volcano else {"gang": "train"}
    await api.create(PODS, pod("w0", **link))
    assert await reported_reason(api, "w0") == 'waiting for the PodGroup "train", which does not exist yet'
    await api.create(CRDS, crd(resource))
    await api.create(resource, group(volcano=volcano))
    exist = 'waiting for the gang "train": 2 pods are needed at once, 1 exist'
    await until(lambda: _says(api, "w0", exist))
    await api.create(PODS, pod("w1", **link))

    async def both() -> bool:
        return len(await bound(api)) == 2

    await until(both)

    await until(lambda: _has_phase(api, resource, phase))


@pytest.mark.parametrize("first", [POD_GROUPS, VOLCANO_POD_GROUPS], ids=["job first", "PodGroup first"])
async def test_a_users_volcano_group_beside_the_operators_own_is_one_gang(
    api: LocalApi, scheduler: Scheduler, first: Resource
) -> None:
    """The documents' Volcano example: all pods carry the operator's label, and both groups have the job's name."""
    both = sorted((POD_GROUPS, VOLCANO_POD_GROUPS), key=lambda resource: resource != first)
    for resource in both:
        await api.create(CRDS, crd(resource))
    await api.create(NODES, node())
    await api.create(both[0], group(minimum=4, volcano=both[0] == VOLCANO_POD_GROUPS))
    for index in range(4):
        scheduler_name = {"schedulerName": "volcano"} if index < 2 else {}
        await api.create(PODS, pod(f"w{index}", gang="train", requests={"cpu": "2"}, **scheduler_name))
    await api.create(both[1], group(minimum=4, volcano=both[1] == VOLCANO_POD_GROUPS))
    lacks = (
        'waiting for the gang "train": 4 pods are needed at once, 2 fit: '
        "0/1 nodes are available: 1 Insufficient cpu (needs 4 x 2, 4 of 4 free)."
    )
    for index in range(4):
        await until(lambda name=f"w{index}": _says(api, name, lacks))
    assert await bound(api) == {}
    await api.create(NODES, node("server"))

    async def all_bound() -> bool:
        return len(await bound(api)) == 4

    await until(all_bound)
    for resource, phase in ((POD_GROUPS, "Scheduling"), (VOLCANO_POD_GROUPS, "Running")):
        await until(lambda resource=resource, phase=phase: _has_phase(api, resource, phase))


async def _has_phase(api: LocalApi, resource: Resource, phase: str) -> bool:
    return (await api.get(resource, "default", "train")).get("status", {}).get("phase") == phase


async def _says(api: LocalApi, name: str, wanted: str) -> bool:
    return sentence(await api.get(PODS, "default", name)) == wanted


async def test_at_rest_nothing_is_written(api: LocalApi, scheduler: Scheduler) -> None:
    await api.create(CRDS, crd(POD_GROUPS))
    await api.create(POD_GROUPS, group())
    await api.create(NODES, node())
    await api.create(PODS, pod("waits", requests={"cpu": "9"}))
    await api.create(PODS, pod("runs"))
    await reported_reason(api, "waits")
    await until(lambda: _is_bound(api, "runs"))

    async def all_is_said() -> bool:
        return {event["reason"] for event in await _events(api)} >= {"FailedScheduling", "Scheduled"}

    await until(all_is_said)
    await until(lambda: _has_phase(api, POD_GROUPS, "Pending"))
    before = (await api.list(PODS)).resource_version
    await asyncio.sleep(0.5)  # a span in which nothing may happen
    assert (await api.list(PODS)).resource_version == before


class Recording(Api):
    """An API that records each write, and refuses every binding of the pod `refused`."""

    def __init__(self, api: LocalApi, refused: str = "") -> None:
        self._api = api
        self.refused = refused
        self.writes: list[tuple[str, str]] = []

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Create) and call.subresource == "binding" and call.name == self.refused:
            raise Unavailable("the disk is full")
        answer = await self._api.send(call)
        if isinstance(call, Create | Patch):
            self.writes.append((call.resource.kind, call.name))
        return answer

    def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, **selectors)


async def test_a_new_scheduler_repeats_nothing_that_was_written_before(api: LocalApi) -> None:
    await api.create(CRDS, crd(POD_GROUPS))
    await api.create(POD_GROUPS, group())
    await api.create(NODES, node())
    await api.create(PODS, pod("waits", requests={"cpu": "9"}))
    first, second = Recording(api), Recording(api)

    async def all_is_said() -> bool:
        return {kind for kind, _ in first.writes} == {"Pod", "Event", "PodGroup"}

    async with running(first):
        await until(all_is_said)
    async with running(second):
        await api.create(PODS, pod("new"))
        await until(lambda: _is_bound(api, "new"))
        await asyncio.sleep(0.3)  # a span in which nothing more may be written
    assert second.writes == [("Pod", "new")]


@asynccontextmanager
async def running(api: Any, clock: Callable[[], float] = time.time) -> AsyncIterator[None]:
    task = asyncio.create_task(Scheduler(api, clock=clock).run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_error_of_one_pod_stops_no_other_and_is_tried_again(api: LocalApi) -> None:
    recording = Recording(api, refused="bad")
    await api.create(NODES, node())
    async with running(recording):
        await asyncio.gather(*(api.create(PODS, pod(name)) for name in ("bad", "good")))
        await until(lambda: _is_bound(api, "good"))
        assert not await _is_bound(api, "bad")
        recording.refused = ""
        await until(lambda: _is_bound(api, "bad"))


class Late(Recording):
    """An API whose watch events of pods come from a queue: late, and in the order that the test wants."""

    def __init__(self, api: LocalApi) -> None:
        super().__init__(api)
        self.news: asyncio.Queue[Event] = asyncio.Queue()

    async def follow(self, resource: Resource, *args: Any, **options: Any) -> AsyncIterator[Event]:
        if resource != PODS:
            async for event in self._api.follow(resource, *args, **options):
                yield event
        while True:
            yield await self.news.get()


async def test_the_capacity_of_a_pod_whose_binding_is_not_seen_yet_is_not_given_away(api: LocalApi) -> None:
    await api.create(NODES, node(cpu="1"))
    before = await api.create(PODS, pod("first", requests={"cpu": "1"}))
    patient: Manifest = {"metadata": {"name": "patient"}, "value": 9, "preemptionPolicy": "Never"}
    await api.create(PRIORITY_CLASSES, patient)
    urgent = await api.create(PODS, pod("urgent", requests={"cpu": "1"}, priorityClassName="patient"))
    late = Late(api)
    late.news.put_nowait(Event("ADDED", before))
    late.news.put_nowait(Event("SYNCED", {}))
    async with running(late):
        await until(lambda: _is_bound(api, "first"))
        late.news.put_nowait(Event("MODIFIED", before))
        late.news.put_nowait(Event("ADDED", urgent))
        assert (
            await reported_reason(api, "urgent")
            == "0/1 nodes are available: 1 Insufficient cpu (needs 1, 0 of 1 free). Held by first (1)."
        )
    assert late.writes.count(("Pod", "first")) == 1


@pytest.mark.slow
async def test_200_pods_that_come_at_once_are_planned_together_beside_2000_that_have_finished(api: LocalApi) -> None:
    await api.create(NODES, node(cpu="400", pods=1000))
    asked = {"cpu": "500m", "memory": "1Mi"}
    done = [pod(f"done-{index}", requests=asked, node="laptop") for index in range(2000)]
    await asyncio.gather(*(api.create(PODS, manifest) for manifest in done))
    patch = {"status": {"phase": "Succeeded"}}
    await asyncio.gather(
        *(api.patch(PODS, "default", name_of(manifest), patch, subresource="status") for manifest in done)
    )
    readings = 0

    def clock() -> float:  # the scheduler reads it once for a plan, and once for the event of a bound pod
        nonlocal readings
        readings += 1
        return time.time()

    async with running(api, clock=clock):
        await api.create(PODS, pod("first"))
        await until(lambda: _is_bound(api, "first"))
        readings = 0
        await asyncio.gather(*(api.create(PODS, pod(f"new-{index}", requests=asked)) for index in range(200)))
        await until(lambda: _are_bound(api, 200))
    assert readings - 200 <= 20, f"{readings - 200} plans; it was 1 when this was written"


async def _are_bound(api: LocalApi, count: int) -> bool:
    return len([name for name in await bound(api) if name.startswith("new-")]) == count


async def is_there(api: LocalApi, name: str) -> bool:
    return name in [name_of(manifest) for manifest in (await api.list(PODS)).items]


async def test_a_deleted_pod_of_a_node_that_is_not_there_goes_at_once(api: LocalApi, scheduler: Scheduler) -> None:
    await api.create(NODES, node())
    for name, place in (("never", "nosuch"), ("no-longer", "laptop"), ("kept", "nosuch")):
        await api.create(PODS, pod(name, node=place))
    await api.delete(PODS, "default", "never")
    await api.delete(PODS, "default", "no-longer")
    await until(lambda: _is_gone(api, "never"))
    assert await is_there(api, "no-longer"), "while its node is there, that node says when it has ended"
    await api.delete(NODES, "", "laptop")
    await until(lambda: _is_gone(api, "no-longer"))
    assert await is_there(api, "kept"), "nobody has deleted it"


async def _is_gone(api: LocalApi, name: str) -> bool:
    return not await is_there(api, name)
