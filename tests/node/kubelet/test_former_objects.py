"""A ConfigMap or Secret that was deleted and made again under its name, while the kubelet's watch is late.

Two jobs of one name do so. A program never gets the former one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.cluster import Cluster, pod, shell, waiting
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.api import Event
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest, Resource
from paddock.node.runtime import processes
from paddock.node.runtime.sandbox import Sandbox
from support.host_programs import HostPrograms
from support.operator_seam import Request, Seam
from support.process_state import read_children

REFERENCES: dict[str, tuple[Resource, dict[str, Any], list[Manifest], str]] = {
    "envFrom": (CONFIG_MAPS, {"envFrom": [{"configMapRef": {"name": "demo"}}]}, [], "echo $WHO"),
    "env of a Secret": (
        SECRETS,
        {"env": [{"name": "WHO", "valueFrom": {"secretKeyRef": {"name": "demo", "key": "WHO"}}}]},
        [],
        "echo $WHO",
    ),
    "volume": (CONFIG_MAPS, {}, [{"name": "v", "configMap": {"name": "demo"}}], "cat {mounted}/WHO"),
    "projected volume": (
        SECRETS,
        {},
        [{"name": "v", "projected": {"sources": [{"secret": {"name": "demo"}}]}}],
        "cat {mounted}/WHO",
    ),
}


class Late:
    """A watch that tells what happens to ConfigMaps and Secrets when it may."""

    def __init__(self, seam: Seam) -> None:
        self._may = asyncio.Event()
        self._may.set()
        seam.lag = self._lag

    async def _lag(self, resource: Resource, event: Event) -> None:
        if resource in (CONFIG_MAPS, SECRETS):
            await self._may.wait()

    def begin(self) -> None:
        self._may.clear()

    def end(self) -> None:
        self._may.set()


@pytest.fixture
async def cluster(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[Cluster]:
    api = await LocalApi.open(tmp_path / "api")
    cluster = Cluster(Seam(api), tmp_path / "node", sandbox, HostPrograms())  # type: ignore[arg-type]
    try:
        yield cluster
    finally:
        await cluster.stop()
        for pid in read_children():
            processes.reap(pid)
        await api.close()


def build_object(resource: Resource, who: str) -> Manifest:
    field = "stringData" if resource is SECRETS else "data"
    metadata = {"name": "demo", "namespace": "default"}
    return {"apiVersion": "v1", "kind": resource.kind, "metadata": metadata, field: {"WHO": who}}


def build_pod(name: str, reference: str, directory: Path) -> Manifest:
    _, fields, volumes, script = REFERENCES[reference]
    mounts = [{"name": volume["name"], "mountPath": str(directory / f"{name}-mounted")} for volume in volumes]
    said = script.format(mounted=directory / f"{name}-mounted")
    return pod(shell(said, volumeMounts=mounts, **fields), name=name, volumes=volumes)


@pytest.mark.parametrize("reference", REFERENCES)
async def test_a_pod_never_gets_the_former_object_of_a_name(cluster: Cluster, tmp_path: Path, reference: str) -> None:
    assert isinstance(cluster.api, Seam)
    late, resource = Late(cluster.api), REFERENCES[reference][0]
    await cluster.api.create(resource, build_object(resource, "former"))
    cluster.start()
    assert (await cluster.log(await cluster.run(build_pod("first", reference, tmp_path)))).strip() == "former"
    late.begin()
    await cluster.api.delete(resource, "default", "demo")
    await cluster.create(build_pod("between", reference, tmp_path))
    found = await cluster.see("between", lambda found: waiting(found).get("message"))
    assert "not found" in waiting(found)["message"]
    await cluster.api.create(resource, build_object(resource, "new"))
    found = await cluster.run(build_pod("after", reference, tmp_path))
    assert (await cluster.log(found)).strip() == "new", "its watch still knows the former one alone"
    late.end()
    assert (await cluster.log(await cluster.end("between"))).strip() == "new"


async def test_an_optional_object_that_no_watch_has_told_of_is_found(cluster: Cluster) -> None:
    assert isinstance(cluster.api, Seam)
    late = Late(cluster.api)
    cluster.start()
    assert (await cluster.run(pod(shell("true"), name="first")))["status"]["phase"] == "Succeeded"
    late.begin()
    await cluster.api.create(CONFIG_MAPS, build_object(CONFIG_MAPS, "here"))
    main = shell("echo $WHO", envFrom=[{"configMapRef": {"name": "demo", "optional": True}}])
    assert await cluster.log(await cluster.run(pod(main))) == "here\n"
    late.end()


async def test_what_comes_while_a_start_is_tried_is_not_missed(cluster: Cluster) -> None:
    """The first of two is found missing, and is made before the second has been read."""
    seam = cluster.api
    assert isinstance(seam, Seam)

    async def make_the_first(request: Request) -> None:
        if request == ("get", "configmaps", "demo") and ("create", "configmaps", "a-first") not in seam.requests:
            told = asyncio.Event()

            async def tell(resource: Resource, event: Event) -> None:
                # After the kubelet's own watch has taken it.
                asyncio.get_running_loop().call_later(0.05, told.set)

            seam.lag = tell
            first = build_object(CONFIG_MAPS, "first")
            await seam.create(CONFIG_MAPS, {**first, "metadata": {**first["metadata"], "name": "a-first"}})
            await told.wait()

    await seam.create(CONFIG_MAPS, build_object(CONFIG_MAPS, "here"))
    cluster.start()
    assert (await cluster.run(pod(shell("true"), name="before")))["status"]["phase"] == "Succeeded"
    seam.before = make_the_first
    main = shell("echo $WHO", envFrom=[{"configMapRef": {"name": "a-first"}}, {"configMapRef": {"name": "demo"}}])
    assert await cluster.log(await cluster.run(pod(main), 60)) == "here\n"
