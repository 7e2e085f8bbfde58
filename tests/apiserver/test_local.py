"""The API in process: create, patch, delete and follow."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from apiserver.embedded import WIDGETS, Follower, config_map, is_gone, widget, widget_crd
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    Unavailable,
    is_namespace_terminating,
)
from paddock.kube.meta import CONFIG_MAPS, CRDS, NAMESPACES, NODES
from support.waiting import until


async def test_a_new_cluster_has_its_namespaces_and_nothing_else(api: LocalApi) -> None:
    names = [found["metadata"]["name"] for found in (await api.list(NAMESPACES)).items]
    assert names == ["default", "kube-system", "kubeflow", "paddle-system"]
    assert not (await api.list(NODES)).items


@pytest.mark.parametrize("field", ["name", "uid"])
async def test_what_is_no_unicode_is_refused(api: LocalApi, field: str) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"} | {field: "\ud800"}
    manifest = {"metadata": {"name": "c", "ownerReferences": [owner]}}
    with pytest.raises(BadRequest, match="UTF-8"):
        await api.create(CONFIG_MAPS, manifest, namespace="default")
    await api.create(CONFIG_MAPS, config_map(), namespace="default")


async def test_names_are_generated_apart(api: LocalApi) -> None:
    manifest = {"metadata": {"generateName": "x-"}}
    made = await asyncio.gather(*(api.create(CONFIG_MAPS, manifest, namespace="default") for _ in range(20)))
    names = {one["metadata"]["name"] for one in made}
    assert len(names) == 20
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


async def test_of_two_writers_one_conflicts(api: LocalApi) -> None:
    created = await api.create(CONFIG_MAPS, config_map(), namespace="default")
    first, second = created | {"data": {"a": "1"}}, created | {"data": {"a": "2"}}
    results = await asyncio.gather(
        api.replace(CONFIG_MAPS, first), api.replace(CONFIG_MAPS, second), return_exceptions=True
    )
    assert [isinstance(result, Conflict) for result in results] == [False, True]
    with pytest.raises(Conflict):
        await api.patch(CONFIG_MAPS, "default", "c", {"metadata": {"resourceVersion": "1"}, "data": {"a": "3"}})


async def test_a_write_that_changes_nothing_is_no_write(api: LocalApi) -> None:
    created = await api.create(CONFIG_MAPS, config_map() | {"data": {"a": "b"}}, namespace="default")
    assert await api.patch(CONFIG_MAPS, "default", "c", {"data": {"a": "b"}}) == created
    assert await api.replace(CONFIG_MAPS, created) == created


async def test_a_custom_kind_is_served_from_its_creation_to_its_deletion(api: LocalApi) -> None:
    with pytest.raises(NotFound):
        await api.list(WIDGETS)
    await api.create(CRDS, widget_crd())
    created = await api.create(WIDGETS, widget(), namespace="default")
    assert created["spec"] == {"size": 3}
    await api.delete(CRDS, "", "widgets.example.org")
    await until(lambda: is_gone(api, CRDS, "widgets.example.org"))
    with pytest.raises(NotFound):
        await api.get(WIDGETS, "default", "w")
    await api.create(CRDS, widget_crd())
    assert not (await api.list(WIDGETS)).items


async def test_a_delete_of_another_of_the_same_name_conflicts(api: LocalApi) -> None:
    await api.create(CONFIG_MAPS, config_map(), namespace="default")
    with pytest.raises(Conflict):
        await api.delete(CONFIG_MAPS, "default", "c", uid="of-an-earlier-one")


async def test_a_deleted_namespace_is_emptied_and_refuses_new_objects(api: LocalApi) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    await api.create(CONFIG_MAPS, config_map(finalizers=["a.example/b"]), namespace="team")
    await api.create(CONFIG_MAPS, config_map("d"), namespace="team")
    await api.delete(NAMESPACES, "", "team")
    await until(lambda: is_gone(api, CONFIG_MAPS, "d", "team"))
    assert (await api.get(NAMESPACES, "", "team"))["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="because it is being terminated") as refused:
        await api.create(CONFIG_MAPS, config_map("e"), namespace="team")
    assert is_namespace_terminating(refused.value)
    await api.patch(CONFIG_MAPS, "team", "c", {"metadata": {"finalizers": None}})
    await until(lambda: is_gone(api, NAMESPACES, "team"))


async def test_follow_delivers_existing_objects_then_changes(api: LocalApi) -> None:
    await api.create(CONFIG_MAPS, config_map("a"), namespace="default")
    follower = Follower(api, CONFIG_MAPS, "default")
    assert await follower.until_synced() == ["a"]
    await api.create(CONFIG_MAPS, config_map("b"), namespace="default")
    await api.patch(CONFIG_MAPS, "default", "b", {"data": {"x": "y"}})
    await api.delete(CONFIG_MAPS, "default", "b")
    events = [await follower.next() for _ in range(3)]
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[2].object["data"] == {"x": "y"}
    await follower.close()


async def test_an_object_enters_and_leaves_a_selection(api: LocalApi) -> None:
    follower = Follower(api, CONFIG_MAPS, "default", labels="on=yes")
    assert await follower.until_synced() == []
    await api.create(CONFIG_MAPS, config_map(labels={"on": "no"}), namespace="default")
    await api.patch(CONFIG_MAPS, "default", "c", {"metadata": {"labels": {"on": "yes"}}})
    await api.patch(CONFIG_MAPS, "default", "c", {"data": {"x": "y"}})
    await api.patch(CONFIG_MAPS, "default", "c", {"metadata": {"labels": {"on": "no"}}})
    await api.delete(CONFIG_MAPS, "default", "c")
    await api.create(CONFIG_MAPS, config_map("last", labels={"on": "yes"}), namespace="default")
    events = [await follower.next() for _ in range(4)]
    seen = [(event.type, event.object["metadata"]["name"]) for event in events]
    assert seen == [("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c"), ("ADDED", "last")]
    assert events[2].object["metadata"]["labels"] == {"on": "yes"}
    await follower.close()


async def test_every_returned_object_is_the_callers_own(api: LocalApi) -> None:
    one, two = Follower(api, CONFIG_MAPS), Follower(api, CONFIG_MAPS)
    await one.until_synced()
    await two.until_synced()
    await api.create(CONFIG_MAPS, config_map() | {"data": {"a": "b"}}, namespace="default")
    (await one.next()).object["data"]["a"] = "spoilt"
    (await api.get(CONFIG_MAPS, "default", "c"))["data"]["a"] = "spoilt"
    assert (await two.next()).object["data"] == {"a": "b"}
    assert (await api.get(CONFIG_MAPS, "default", "c"))["data"] == {"a": "b"}
    await one.close()
    await two.close()


async def test_watches_end_when_the_api_closes(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    follower = Follower(api, CONFIG_MAPS)
    await follower.until_synced()
    await api.close()
    with pytest.raises(StopAsyncIteration):
        await follower.next()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    await api.create(CRDS, widget_crd())
    created = await api.create(WIDGETS, widget(), namespace="default")
    await api.close()
    again = await LocalApi.open(tmp_path)
    assert await again.get(WIDGETS, "default", "w") == created
    assert len((await again.list(NAMESPACES)).items) == 4
    await again.close()


async def test_a_directory_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot be used for the cluster's state"):
        await LocalApi.open(tmp_path / "file" / "cluster")
