"""PodGroups of the three schedulers on an API server that knows their fields, and one whose PodGroups come and go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.app.cluster import explain_pod_groups
from paddock.client.client import Client
from paddock.jobs.model import Settings
from paddock.jobs.objects.pod_groups import read_members
from paddock.jobs.objects.schedulers import GANG_SCHEDULERS
from paddock.kube.calls import Create
from paddock.kube.meta import (
    CRDS,
    KUBERNETES_POD_GROUPS,
    POD_GROUPS,
    PODS,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    labels_of,
    uid_of,
)
from paddock.kube.patches import merge_patch
from support.operator_seam import JOBS, Seam, build_job, have_pods, running, set_phase, status_of
from support.pod_groups import build_definition, install, remove
from support.waiting import until
from support.worlds import ControlPlane, World, open_control_plane, open_embedded, open_real

pytestmark = pytest.mark.slow

WITHOUT_BUILT_IN = (
    "--flag=kube-apiserver:--runtime-config=scheduling.k8s.io/v1=false,scheduling.k8s.io/v1beta1=false",
    "--flag=kube-apiserver:--disable-admission-plugins=Priority",
)
"""A definition in this group is served only where the server has no kinds of its own in it (PriorityClass)."""


@pytest.fixture(scope="module")
def free_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with open_control_plane(tmp_path_factory.mktemp("gangs"), *WITHOUT_BUILT_IN) as plane:
        yield plane


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "embedded":
        async with open_embedded(tmp_path) as embedded:
            yield embedded
    else:
        async with open_real(request.getfixturevalue("free_control_plane")) as real:
            yield real


def settings_of(resource: Resource, **more: Any) -> Settings:
    return Settings(pod_groups=resource, gang_scheduler=GANG_SCHEDULERS[resource], **more)


async def groups_of(world: World, resource: Resource) -> list[Manifest]:
    return list((await world.api.list(resource, world.namespace)).items)


async def start_gang(world: World, count: int = 2, name: str = "demo") -> dict[str, Manifest]:
    """All pods of the job run, as a kubelet would say."""
    api, namespace = world.api, world.namespace
    made: dict[str, Manifest] = await until(lambda: have_pods(api, count, name, namespace))
    for number, pod in enumerate(sorted(made), 2):
        await set_phase(api, pod, "Running", address=f"10.98.0.{number}", namespace=namespace)
    await until(lambda: _is(world, "Running", name))
    return made


async def _is(world: World, phase: str, name: str = "demo") -> bool:
    return (await status_of(world.api, name, world.namespace)).get("phase") == phase


FOREIGN: dict[Resource, Manifest] = {
    VOLCANO_POD_GROUPS: {"minTaskMember": {"worker": 2}, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}},
    POD_GROUPS: {},
    KUBERNETES_POD_GROUPS: {"disruptionMode": {"all": {}}},
}
"""What others write there."""


@pytest.mark.parametrize("resource", GANG_SCHEDULERS, ids=lambda each: each.group)
async def test_a_group_is_made_resized_and_deleted_and_fields_of_others_stay(place: World, resource: Resource) -> None:
    api, namespace = place.api, place.namespace
    await install(api, resource)
    job = build_job(ps=0, namespace=namespace, schedulingPolicy={"minResources": {"cpu": "2"}})
    job["metadata"]["annotations"] = {"scheduler.example.com/hint": "near"}
    async with running(api, settings_of(resource), namespaces=(namespace,)):
        await api.create(JOBS, job)
        await start_gang(place)
        (group,) = await groups_of(place, resource)
        assert read_members(group["spec"]) == 2
        assert group["metadata"]["annotations"]["scheduler.example.com/hint"] == "near"
        default = {"disruptionMode": {"single": None}} if resource == KUBERNETES_POD_GROUPS else {}
        await api.patch(resource, namespace, "demo", {"spec": merge_patch(default, FOREIGN[resource])})
        await api.patch(JOBS, namespace, "demo", {"spec": {"worker": {"replicas": 3}}})

        async def is_resized() -> bool:
            return [read_members(each["spec"]) for each in await groups_of(place, resource)] == [3]

        await until(is_resized)
        (resized,) = await groups_of(place, resource)
        assert uid_of(resized) == uid_of(group)
        assert {name: resized["spec"].get(name) for name in FOREIGN[resource]} == FOREIGN[resource]
        await api.patch(JOBS, namespace, "demo", {"spec": {"runPolicy": {"suspend": True}}})

        async def is_gone() -> bool:
            return not await groups_of(place, resource)

        await until(is_gone)


async def test_pods_of_kubernetes_own_gang_name_their_group_and_it_says_why_they_wait(place: World) -> None:
    api, namespace = place.api, place.namespace
    await install(api, KUBERNETES_POD_GROUPS)
    seam, asked = Seam(api, namespace), []
    send = seam.send

    async def remember(call: Any) -> Any:
        if isinstance(call, Create) and call.resource == PODS:
            asked.append(call.manifest)
        return await send(call)

    seam.send = remember  # type: ignore[method-assign]
    async with running(seam, settings_of(KUBERNETES_POD_GROUPS), namespaces=(namespace,)):
        await api.create(JOBS, build_job(ps=0, namespace=namespace))
        await until(lambda: have_pods(api, 2, namespace=namespace))
        # A server before 1.35 drops the field, so what was asked for is looked at.
        assert [each["spec"]["schedulingGroup"] for each in asked] == [{"podGroupName": "demo"}] * 2
        assert not any("scheduling" in label for each in asked for label in labels_of(each))
        why = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable",
               "message": "not enough capacity for the gang", "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        await api.patch(
            KUBERNETES_POD_GROUPS, namespace, "demo", {"status": {"conditions": [why]}}, subresource="status"
        )

        async def is_said() -> Manifest:
            cause: Manifest = (await status_of(api, namespace=namespace)).get("cause") or {}
            return cause if cause.get("reason") == "WaitingForPodGroup" else {}

        cause = await until(is_said)
        assert cause["args"]["message"] == "not enough capacity for the gang"


@pytest.mark.usefixtures("tries_soon")
async def test_pod_groups_that_vanish_and_come_back_are_told_of_and_stop_no_gang_that_runs(place: World) -> None:
    """A server closes the watches of a kind some minutes after its definition went; a create tells at once."""
    api, namespace = place.api, place.namespace
    await install(api, POD_GROUPS)
    async with running(api, settings_of(POD_GROUPS), namespaces=(namespace,)):
        await api.create(JOBS, build_job(ps=0, namespace=namespace))
        before = await start_gang(place)
        await remove(api, POD_GROUPS)
        # A gang of the time without PodGroups waits, and says for what.
        await api.create(JOBS, build_job("later", ps=0, namespace=namespace))
        said = f"this cluster does not serve {POD_GROUPS.qualified} as {POD_GROUPS.version}"

        async def is_said(name: str) -> bool:
            cause: Manifest = (await status_of(api, name, namespace)).get("cause") or {}
            return (cause.get("args") or {}).get("message") == said

        await until(lambda: is_said("later"))
        await until(lambda: is_said("demo"))
        assert not await have_pods(api, 2, "later", namespace)
        assert (await status_of(api, namespace=namespace))["phase"] == "Running"
        await install(api, POD_GROUPS)
        await until(lambda: have_pods(api, 2, "later", namespace))

        async def are_both_made() -> bool:
            return len(await groups_of(place, POD_GROUPS)) == 2

        await until(are_both_made)
        after = await have_pods(api, 2, namespace=namespace)
        assert {uid_of(pod) for pod in after.values()} == {uid_of(pod) for pod in before.values()}
        status = await status_of(api, namespace=namespace)
        assert (status["phase"], status.get("attempt", 0)) == ("Running", 0)


@pytest.mark.usefixtures("tries_soon")
async def test_pod_groups_that_are_installed_later_are_waited_for(place: World) -> None:
    api, namespace = place.api, place.namespace
    await remove(api, VOLCANO_POD_GROUPS)
    async with running(api, settings_of(VOLCANO_POD_GROUPS), namespaces=(namespace,)) as operator:
        assert not operator.unsynced()
        await api.create(JOBS, build_job(ps=0, namespace=namespace))

        async def waits() -> bool:
            cause = (await status_of(api, namespace=namespace)).get("cause") or {}
            return cause.get("reason") == "ObjectsNotCreated"

        await until(waits)
        await install(api, VOLCANO_POD_GROUPS)
        await start_gang(place)


@pytest.mark.usefixtures("tries_soon")
async def test_a_version_that_is_not_known_is_not_taken_for_the_one_that_is(place: World) -> None:
    api, namespace = place.api, place.namespace
    older = replace(KUBERNETES_POD_GROUPS, version="v1alpha2")
    await remove(api, KUBERNETES_POD_GROUPS)
    definition = build_definition(KUBERNETES_POD_GROUPS)
    definition["spec"]["versions"][0]["name"] = older.version
    await api.create(CRDS, definition)
    async with running(api, settings_of(KUBERNETES_POD_GROUPS), namespaces=(namespace,)):
        await api.create(JOBS, build_job(ps=0, namespace=namespace))

        async def waits() -> bool:
            cause = (await status_of(api, namespace=namespace)).get("cause") or {}
            return cause.get("reason") == "ObjectsNotCreated"

        await until(waits)
        assert not (await api.list(older, namespace)).items
    if isinstance(api, Client):
        assert "in v1alpha2, and Paddock knows v1beta1" in await explain_pod_groups(api)
        await install(api, KUBERNETES_POD_GROUPS)
        assert await explain_pod_groups(api) == ""
