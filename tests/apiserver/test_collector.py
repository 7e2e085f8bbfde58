"""Garbage collection: the decision as a table, then trees of owners and dependents in the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apiserver.embedded import WIDGETS, config_map, is_gone, pod, widget, widget_crd
from paddock.apiserver.objects.garbage import (
    AwaitDependents,
    Decision,
    DropOwners,
    Keep,
    Orphan,
    Remove,
    plan_collection,
)
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import CONFIG_MAPS, CRDS, NAMESPACES, PODS, name_of, owner_reference, uid_of
from support.waiting import until


def _object(
    *owners: str, finalizers: tuple[str, ...] = (), deleting: bool = False, blocks: bool = True
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": "x", "uid": "x", "finalizers": list(finalizers)}
    if owners:
        meta["ownerReferences"] = [{"uid": uid, "blockOwnerDeletion": blocks} for uid in owners]
    if deleting:
        meta["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    return {"metadata": meta}


LIVE = _object()
GOING = _object(finalizers=("foregroundDeletion",), deleting=True)
GOING_BACKGROUND = _object(finalizers=("a/b",), deleting=True)

DECISIONS: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]], Decision]] = {
    # object, owners, dependents, decision
    "no owner": (LIVE, {}, [], Keep()),
    "its owner lives": (_object("a"), {"a": LIVE}, [], Keep()),
    "its owner is gone": (_object("a"), {"a": None}, [], Remove("Background")),
    "its owner is gone, it has dependents": (_object("a"), {"a": None}, [_object("x")], Remove("Background")),
    "one of two owners is gone": (_object("a", "b"), {"a": None, "b": LIVE}, [], DropOwners(frozenset({"a"}))),
    "both owners are gone": (_object("a", "b"), {"a": None, "b": None}, [], Remove("Background")),
    "its owner waits for it": (_object("a"), {"a": GOING}, [], Remove("Background")),
    "its owner waits, it has dependents": (_object("a"), {"a": GOING}, [_object("x")], Remove("Foreground")),
    "one owner waits, one lives": (_object("a", "b"), {"a": GOING, "b": LIVE}, [], DropOwners(frozenset({"a"}))),
    "its owner ends for other reasons": (_object("a"), {"a": GOING_BACKGROUND}, [], Keep()),
    "in deletion already": (_object("a", deleting=True), {"a": None}, [], Keep()),
    "orphans its dependents": (_object(finalizers=("orphan",), deleting=True), {}, [_object("x")], Orphan()),
    "in foreground deletion, blocked": (GOING, {}, [_object("x")], AwaitDependents(blocked=True)),
    "in foreground deletion, not blocked": (GOING, {}, [_object("x", blocks=False)], AwaitDependents(blocked=False)),
    "in foreground deletion, alone": (GOING, {}, [], AwaitDependents(blocked=False)),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_the_decision_about_an_object(case: str) -> None:
    manifest, owners, dependents, decision = DECISIONS[case]
    assert plan_collection(manifest, owners, dependents) == decision


def _waiting(uid: str, *owners: str) -> dict[str, Any]:
    waiting = _object(*owners, finalizers=("foregroundDeletion",), deleting=True)
    return {"metadata": waiting["metadata"] | {"uid": uid}}


@pytest.mark.parametrize(
    ("dependents", "ancestors", "blocked"),
    [
        ([_waiting("a", "x")], {"a"}, False),
        ([_waiting("x", "x")], {"x"}, False),
        ([_waiting("a", "x")], set(), True),
        ([_waiting("a", "x"), _object("x")], {"a"}, True),
        ([_object("x")], {"x"}, True),
    ],
    ids=["a circle", "its own owner", "a child that waits for its own children", "a circle and a child", "not waiting"],
)
def test_a_cycle_of_owners_does_not_block_itself(dependents: Any, ancestors: set[str], blocked: bool) -> None:
    manifest = _waiting("x", *ancestors)
    assert plan_collection(manifest, {}, dependents, frozenset(ancestors)) == AwaitDependents(blocked=blocked)


@pytest.mark.parametrize("length", [1, 2, 3])
async def test_a_cycle_of_owners_can_be_deleted_in_the_foreground(api: LocalApi, length: int) -> None:
    made = [await api.create(CONFIG_MAPS, config_map(f"c{i}"), namespace="default") for i in range(length)]
    for position, one in enumerate(made):
        owner = owner_reference(made[position - 1])
        await api.patch(CONFIG_MAPS, "default", name_of(one), {"metadata": {"ownerReferences": [owner]}})
    await api.delete(CONFIG_MAPS, "default", "c0", propagation="Foreground")
    for name in map(name_of, made):
        await until(lambda name=name: is_gone(api, CONFIG_MAPS, name))


async def test_foreground_waits_for_grandchildren(api: LocalApi) -> None:
    parent = await api.create(CONFIG_MAPS, config_map("parent"), namespace="default")
    child = await api.create(CONFIG_MAPS, config_map("child", (parent,)), namespace="default")
    held = config_map("grandchild", (child,), finalizers=["a.example/b"])
    await api.create(CONFIG_MAPS, held, namespace="default")
    await api.delete(CONFIG_MAPS, "default", "parent", propagation="Foreground")

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await api.get(CONFIG_MAPS, "default", "grandchild"))["metadata"]

    await until(is_ending)
    assert await api.get(CONFIG_MAPS, "default", "parent")
    await api.patch(CONFIG_MAPS, "default", "grandchild", {"metadata": {"finalizers": None}})
    for name in ("grandchild", "child", "parent"):
        await until(lambda name=name: is_gone(api, CONFIG_MAPS, name))


@pytest.mark.parametrize("ends", [False, True])
async def test_an_owner_waits_no_more_for_who_has_left_it(api: LocalApi, ends: bool) -> None:
    """`ends`: the dependent goes by the same write."""
    owner = await api.create(CONFIG_MAPS, config_map("owner"), namespace="default")
    held = config_map("child", (owner,), finalizers=["a.example/b"])
    await api.create(CONFIG_MAPS, held, namespace="default")
    await api.delete(CONFIG_MAPS, "default", "owner", propagation="Foreground")

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await api.get(CONFIG_MAPS, "default", "child"))["metadata"]

    await until(is_ending)
    left = {"ownerReferences": None} | ({"finalizers": None} if ends else {})
    await api.patch(CONFIG_MAPS, "default", "child", {"metadata": left})
    await until(lambda: is_gone(api, CONFIG_MAPS, "owner"))
    assert await is_gone(api, CONFIG_MAPS, "child") is ends
    assert api.objects.store.dependent_keys(uid_of(owner)) == []


async def test_a_namespaced_owner_of_a_cluster_scoped_object_is_ignored(api: LocalApi) -> None:
    owner = await api.create(CONFIG_MAPS, config_map("owner"), namespace="default")
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    for name, of in (("team", owner), ("team-2", ghost)):
        await api.create(NAMESPACES, {"metadata": {"name": name, "ownerReferences": [owner_reference(of)]}})
    await api.delete(CONFIG_MAPS, "default", "owner")
    # The queue is in order, so a later object that is deleted shows that these were examined.
    await api.create(CONFIG_MAPS, config_map("later", (ghost,)), namespace="default")
    await until(lambda: is_gone(api, CONFIG_MAPS, "later"))
    for name in ("team", "team-2"):
        assert "deletionTimestamp" not in (await api.get(NAMESPACES, "", name))["metadata"]


async def _family(api: LocalApi) -> None:
    """parent -> child -> grandchild."""
    parent = await api.create(CONFIG_MAPS, config_map("parent"), namespace="default")
    child = await api.create(CONFIG_MAPS, config_map("child", (parent,)), namespace="default")
    await api.create(CONFIG_MAPS, config_map("grandchild", (child,)), namespace="default")


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_dependents_are_deleted_with_their_owner(api: LocalApi, propagation: Any) -> None:
    await _family(api)
    await api.delete(CONFIG_MAPS, "default", "parent", propagation=propagation)
    for name in ("parent", "child", "grandchild"):
        await until(lambda name=name: is_gone(api, CONFIG_MAPS, name))


async def test_foreground_waits_for_the_grace_period_of_a_pod(api: LocalApi) -> None:
    parent = await api.create(CONFIG_MAPS, config_map("parent"), namespace="default")
    await api.create(PODS, pod(ownerReferences=[owner_reference(parent)]), namespace="default")
    binding = {"target": {"kind": "Node", "name": "n"}}
    await api.create(PODS, binding, namespace="default", name="p", subresource="binding")
    await api.delete(CONFIG_MAPS, "default", "parent", propagation="Foreground")

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await api.get(PODS, "default", "p"))["metadata"]

    await until(is_ending)
    assert (await api.get(CONFIG_MAPS, "default", "parent"))["metadata"]["finalizers"] == ["foregroundDeletion"]
    await api.delete(PODS, "default", "p", grace=0)
    await until(lambda: is_gone(api, CONFIG_MAPS, "parent"))


async def test_a_dependent_of_an_owner_that_never_existed_is_deleted(api: LocalApi) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    await api.create(CONFIG_MAPS, config_map("child", (ghost,)), namespace="default")
    await until(lambda: is_gone(api, CONFIG_MAPS, "child"))


async def test_an_owner_in_another_namespace_does_not_count(api: LocalApi) -> None:
    parent = await api.create(CONFIG_MAPS, config_map("parent"), namespace="kubeflow")
    await api.create(CONFIG_MAPS, config_map("child", (parent,)), namespace="default")
    await until(lambda: is_gone(api, CONFIG_MAPS, "child"))


async def test_a_dependent_with_another_owner_stays(api: LocalApi) -> None:
    one = await api.create(CONFIG_MAPS, config_map("one"), namespace="default")
    two = await api.create(CONFIG_MAPS, config_map("two"), namespace="default")
    await api.create(CONFIG_MAPS, config_map("child", (one, two)), namespace="default")
    await api.delete(CONFIG_MAPS, "default", "one")

    async def owners() -> bool:
        child = await api.get(CONFIG_MAPS, "default", "child")
        return [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["two"]

    await until(owners)


async def test_a_new_owner_of_the_old_name_owns_nothing(api: LocalApi) -> None:
    await _family(api)
    await api.delete(CONFIG_MAPS, "default", "parent")
    await api.create(CONFIG_MAPS, config_map("parent"), namespace="default")
    await until(lambda: is_gone(api, CONFIG_MAPS, "child"))
    assert await api.get(CONFIG_MAPS, "default", "parent")


async def test_collection_continues_after_a_crash(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    await _family(api)
    api._collecting.cancel()  # as if the process died before the collector came to it
    await api.delete(CONFIG_MAPS, "default", "parent")
    assert await api.get(CONFIG_MAPS, "default", "child")
    await api.close()
    again = await LocalApi.open(tmp_path)
    await until(lambda: is_gone(again, CONFIG_MAPS, "grandchild"))
    await again.close()


async def test_a_crd_waits_for_objects_with_finalizers(widgets: LocalApi) -> None:
    held = widget()
    held["metadata"]["finalizers"] = ["a.example/b"]
    await widgets.create(WIDGETS, held, namespace="default")
    await widgets.delete(CRDS, "", widget_crd()["metadata"]["name"])

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await widgets.get(WIDGETS, "default", "w"))["metadata"]

    await until(is_ending)
    await widgets.patch(WIDGETS, "default", "w", {"metadata": {"finalizers": None}})
    await until(lambda: is_gone(widgets, CRDS, "widgets.example.org"))
