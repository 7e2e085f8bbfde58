"""The client with the embedded API over TLS, configured by its kubeconfig."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.kube.errors import AlreadyExists, Conflict, Invalid, NotFound, Unavailable
from paddock.kube.meta import CONFIG_MAPS, NAMESPACES, PODS
from support.operator_seam import JOBS, build_job, have_pods, install_jobs, running
from support.waiting import until


@asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[tuple[LocalApi, Server]]:
    api = await LocalApi.open(directory / "store")
    server = Server(api, directory)
    await server.start()
    try:
        yield api, server
    finally:
        await server.stop()
        await api.close()


def connect(server: Server) -> Client:
    return Client(read_config(str(server.kubeconfig)))


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_objects_are_created_read_changed_and_deleted(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, server), connect(server) as api:
        made = await api.create(CONFIG_MAPS, config_map("a", x="1"))
        with pytest.raises(AlreadyExists):
            await api.create(CONFIG_MAPS, config_map("a"))
        patched = await api.patch(CONFIG_MAPS, "default", "a", {"data": {"y": "2"}})
        assert patched["data"] == {"x": "1", "y": "2"}
        with pytest.raises(Conflict):
            await api.replace(CONFIG_MAPS, made)
        with pytest.raises(Conflict):
            await api.delete(CONFIG_MAPS, "default", "a", uid="another")
        await api.delete(CONFIG_MAPS, "default", "a", uid=made["metadata"]["uid"])
        with pytest.raises(NotFound):
            await api.get(CONFIG_MAPS, "default", "a")


async def test_a_refusal_names_the_fields(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, server), connect(server) as api:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": {}}
        with pytest.raises(Invalid) as caught:
            await api.create(PODS, pod)
    assert "spec.containers" in [cause.field for cause in caught.value.causes]


async def test_lists_longer_than_a_page_are_complete(tmp_path: Path) -> None:
    async with serving(tmp_path) as (local, server), connect(server) as api:
        for number in range(1, 601):
            await local.create(CONFIG_MAPS, config_map(f"c{number:03}"))
        listing = await api.list(CONFIG_MAPS, "default")
        assert len({item["metadata"]["name"] for item in listing.items if item["kind"] == "ConfigMap"}) >= 600
        assert [item["metadata"]["name"] for item in (await api.list(NAMESPACES, fields="metadata.name=default")).items]


async def test_following_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    local = await LocalApi.open(tmp_path / "store")
    first = Server(local, tmp_path)
    await first.start()
    port = int(first.url.rpartition(":")[2])
    async with connect(first) as api, asyncio.timeout(180):
        events = aiter(api.follow(CONFIG_MAPS, "default"))
        while (await anext(events)).type != "SYNCED":
            pass
        await local.create(CONFIG_MAPS, config_map("a"))
        assert (await anext(events)).object["metadata"]["name"] == "a"
        await first.stop()
        with pytest.raises(Unavailable):
            await api.get(CONFIG_MAPS, "default", "a")
        await local.create(CONFIG_MAPS, config_map("b"))
        second = Server(local, tmp_path)
        await second.start(port)
        event = await anext(events)
        assert (event.type, event.object["metadata"]["name"]) == ("ADDED", "b")
        await events.aclose()  # type: ignore[attr-defined]
        await second.stop()
    await local.close()


async def test_the_operator_serves_a_cluster_over_https_as_it_does_in_its_own_process(tmp_path: Path) -> None:
    async with serving(tmp_path) as (local, server), connect(server) as api:
        await install_jobs(local)
        async with running(api):
            await local.create(JOBS, build_job())
            assert len(await until(lambda: have_pods(local, 4))) == 4
