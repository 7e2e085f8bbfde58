"""The binder against the embedded API, and pods of both sandboxes that use what it bound."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from node.cluster import Cluster, open_cluster, pod, shell, waiting
from node.cluster_objects import claim, node, volume
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, EVENTS, NODES, PODS, VOLUMES, Manifest, Resource, annotations_of
from paddock.node.runtime.sandbox import Sandbox, choose_sandbox
from paddock.node.scheduler.scheduler import Scheduler
from paddock.node.volumes.binder import Binder
from support.sandboxes import SANDBOXES, need_sandbox
from support.waiting import until

DOCUMENTS = Path(__file__).parents[3] / "examples/documents"


def fresh(manifest: Manifest) -> Manifest:
    """As a person writes it: what the server adds is left out."""
    metadata = {
        key: manifest["metadata"][key] for key in ("name", "namespace", "labels") if key in manifest["metadata"]
    }
    return {key: value for key, value in manifest.items() if key != "status"} | {"metadata": metadata}


def read_documents(name: str) -> list[Manifest]:
    return [found for found in yaml.safe_load_all((DOCUMENTS / name).read_text()) if found]


class Storage:
    """A binder on a cluster's API. Its clock is far ahead, so that every delay is over."""

    def __init__(self, api: LocalApi, directory: Path) -> None:
        self.api = api
        self.root = directory / "volumes"
        self.task = asyncio.create_task(Binder(api, self.root).run())

    async def see(self, resource: Resource, name: str, phase: str) -> Manifest:
        """The object once its phase is so."""
        latest: Manifest = {}
        namespace = "default" if resource is CLAIMS else ""
        try:
            async with asyncio.timeout(180):
                async for event in self.api.follow(resource, namespace, fields=f"metadata.name={name}"):
                    latest = event.object or latest
                    if event.type in ("ADDED", "MODIFIED") and event.object["status"].get("phase") == phase:
                        return event.object
        except TimeoutError:
            raise AssertionError(f"{resource.kind} {name} is still {latest}") from None
        raise AssertionError("the API ended")

    async def events(self, reason: str) -> list[tuple[str, str]]:
        """Once there are some of this reason: what each is about, and its message."""

        async def found() -> list[tuple[str, str]]:
            events = (await self.api.list(EVENTS)).items
            return [(it["involvedObject"]["kind"], it["message"]) for it in events if it["reason"] == reason]

        return await until(found)

    async def stop(self) -> None:
        assert not self.task.done(), "the binder ended by itself"
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def gone(api: LocalApi, resource: Resource, name: str) -> bool:
    try:
        await api.get(resource, "default" if resource is CLAIMS else "", name)
    except NotFound:
        return True
    return False


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    api = await LocalApi.open(tmp_path / "api")
    storage = Storage(api, tmp_path)
    yield storage
    await storage.stop()
    await api.close()


async def test_the_documents_volume_and_claim_are_a_directory_of_this_machine(storage: Storage) -> None:
    pv, pvc = read_documents("storage.yaml")
    await storage.api.create(VOLUMES, pv)
    await storage.api.create(CLAIMS, pvc, namespace="default")
    bound = await storage.see(CLAIMS, "nfs-pvc", "Bound")
    directory = storage.root / "nfs-pv"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert annotations_of(bound)["paddock.dev/directory"] == str(directory)
    assert (bound["status"]["capacity"], bound["status"]["accessModes"]) == ({"storage": "10Gi"}, ["ReadWriteOnce"])
    its = await storage.api.get(VOLUMES, "", "nfs-pv")
    assert its["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    assert its["status"]["phase"] == "Bound"
    said = (
        f"nfs 10.12.201.xx:/nas is not mounted on a laptop; the claim uses the directory {directory}; put files for its"
    )

    async def both() -> bool:
        return len(await storage.events("Bound")) == 2

    await until(both)
    assert sorted(await storage.events("Bound")) == [
        ("PersistentVolume", f"{said} pods there"),
        ("PersistentVolumeClaim", f"{said} pods there"),
    ]


async def test_the_claim_may_come_before_its_volume(storage: Storage) -> None:
    await storage.api.create(CLAIMS, fresh(claim(volumeName="pv")))
    ((kind, message),) = await storage.events("FailedBinding")
    assert (kind, message) == (
        "PersistentVolumeClaim",
        'PersistentVolume "pv", which volumeName names, does not exist (there is none)',
    )
    await storage.api.create(VOLUMES, fresh(volume()))
    assert not (await storage.see(CLAIMS, "data", "Bound"))["status"].get("conditions")


async def test_a_claim_that_nothing_fits_gets_a_directory(storage: Storage) -> None:
    made = await storage.api.create(CLAIMS, fresh(claim(storage_class=None)))
    bound = await storage.see(CLAIMS, "data", "Bound")
    name = f"pvc-{made['metadata']['uid']}"
    assert bound["spec"]["volumeName"] == name
    assert (storage.root / name).is_dir()
    await storage.api.delete(CLAIMS, "default", "data")
    await until(lambda: gone(storage.api, VOLUMES, name))
    assert not (storage.root / name).exists()


@pytest.mark.parametrize(
    ("policy", "phase", "reason"),
    [("Retain", "Released", "VolumeReleased"), ("Recycle", "Available", "VolumeRecycled"),
     ("Delete", "Released", "VolumeKept")],
)  # fmt: skip
async def test_data_outlive_their_claim(storage: Storage, policy: str, phase: str, reason: str) -> None:
    await storage.api.create(VOLUMES, fresh(volume(persistentVolumeReclaimPolicy=policy)))
    await storage.api.create(CLAIMS, fresh(claim()))
    await storage.see(CLAIMS, "data", "Bound")
    model = storage.root / "pv/model"
    model.write_text("weights")
    await storage.api.delete(CLAIMS, "default", "data")
    ((kind, message),) = await storage.events(reason)
    assert (kind, model.read_text()) == ("PersistentVolume", "weights")
    assert str(model.parent) in message
    await storage.see(VOLUMES, "pv", phase)


async def test_a_recycled_volume_goes_to_the_next_claim(storage: Storage) -> None:
    await storage.api.create(VOLUMES, fresh(volume(persistentVolumeReclaimPolicy="Recycle")))
    first = await storage.api.create(CLAIMS, fresh(claim()))
    await storage.see(CLAIMS, "data", "Bound")
    await storage.api.delete(CLAIMS, "default", "data")
    second = await storage.api.create(CLAIMS, fresh(claim(volumeName="pv")))
    await storage.see(CLAIMS, "data", "Bound")
    held = (await storage.api.get(VOLUMES, "", "pv"))["spec"]["claimRef"]["uid"]
    assert held == second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_a_directory_of_the_user_is_used_and_never_removed(storage: Storage, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    source = {"local": {"path": str(mine)}}
    await storage.api.create(VOLUMES, fresh(volume(source=source, persistentVolumeReclaimPolicy="Delete")))
    await storage.api.create(CLAIMS, fresh(claim()))
    ((_, message),) = await storage.events("FailedBinding")
    assert message == f"PersistentVolume pv: the directory {mine} does not exist; make it: mkdir -p {mine}"
    version = (await storage.see(CLAIMS, "data", "Pending"))["metadata"]["resourceVersion"]
    looked = asyncio.create_task(storage.see(VOLUMES, "pv", "Bound"))
    await asyncio.wait([looked], timeout=2.5)  # a span in which it is looked for again, and nothing said again
    assert (await storage.see(CLAIMS, "data", "Pending"))["metadata"]["resourceVersion"] == version
    mine.mkdir()
    await looked
    await storage.see(CLAIMS, "data", "Bound")
    await storage.api.delete(CLAIMS, "default", "data")
    await storage.events("VolumeKept")
    assert mine.is_dir()


async def test_a_binding_that_a_crash_cut_short_is_finished(storage: Storage, tmp_path: Path) -> None:
    await storage.stop()
    made = await storage.api.create(CLAIMS, fresh(claim()))
    reserved = fresh(volume(claim="data", claim_uid=made["metadata"]["uid"]))
    await storage.api.create(VOLUMES, fresh(volume("a")))
    await storage.api.create(VOLUMES, reserved)
    storage.task = Storage(storage.api, tmp_path).task
    assert (await storage.see(CLAIMS, "data", "Bound"))["spec"]["volumeName"] == "pv"


async def test_at_rest_nothing_is_written_and_a_restart_writes_nothing(storage: Storage, tmp_path: Path) -> None:
    await storage.api.create(VOLUMES, fresh(volume(persistentVolumeReclaimPolicy="Retain")))
    await storage.api.create(VOLUMES, fresh(volume("spare", storage_class="fast")))
    await storage.api.create(CLAIMS, fresh(claim("waits", storage_class="")))
    await storage.api.create(CLAIMS, fresh(claim()))
    await storage.see(CLAIMS, "data", "Bound")

    async def all_is_said() -> bool:
        bound, waits = await storage.events("Bound"), await storage.events("FailedBinding")
        # the last that is said of the claim that waits: the other volume is taken by then
        return len(bound) == 2 and any("(spare has" in message for _, message in waits)

    await until(all_is_said)
    before = (await storage.api.list(CLAIMS)).resource_version
    await storage.stop()
    storage.task = Storage(storage.api, tmp_path).task
    await asyncio.sleep(0.5)  # a span in which nothing may happen
    assert (await storage.api.list(CLAIMS)).resource_version == before


# Pods.


@pytest.fixture(params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return need_sandbox(request.param)


@pytest.fixture
async def cluster(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[tuple[Cluster, Storage]]:
    async with open_cluster(tmp_path, sandbox) as cluster:
        storage = Storage(cluster.api, tmp_path)
        try:
            yield cluster, storage
        finally:
            await storage.stop()


def using(script: str, target: Path, name: str = "p", **mount: Any) -> Manifest:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return pod(
        shell(script, volumeMounts=[{"name": "v", "mountPath": str(target), **mount}]), name=name, volumes=volumes
    )


async def bind(storage: Storage) -> Path:
    await storage.api.create(VOLUMES, fresh(volume()))
    await storage.api.create(CLAIMS, fresh(claim()))
    await storage.see(CLAIMS, "data", "Bound")
    return storage.root / "pv"


async def test_a_pod_finds_the_claims_files_and_leaves_its_own(
    cluster: tuple[Cluster, Storage], tmp_path: Path
) -> None:
    node, storage = cluster
    directory, target = await bind(storage), tmp_path / "nas"
    (directory / "train.sh").write_text("echo trained; echo weights >model")
    found = await node.run(using(f"cd {target} && . ./train.sh", target))
    assert await node.log(found) == "trained\n"
    assert (directory / "model").read_text() == "weights\n"
    await until(lambda: not os.path.lexists(target))
    assert (directory / "train.sh").exists()


async def test_pods_share_a_claim_and_the_last_takes_the_path_away(
    cluster: tuple[Cluster, Storage], tmp_path: Path
) -> None:
    node, storage = cluster
    directory, target = await bind(storage), tmp_path / "nas"
    wait = f"echo $HOSTNAME >>{target}/names; until test -e {target}/$HOSTNAME; do sleep 0.02; done; ls {target}/names"
    await node.create(using(wait, target, "a"))
    await node.create(using(wait, target, "b"))
    names = directory / "names"
    await until(lambda: names.exists() and sorted(names.read_text().split()) == ["a", "b"])
    (directory / "a").touch()
    assert (await node.end("a"))["status"]["phase"] == "Succeeded"
    (directory / "b").touch()
    assert (await node.end("b"))["status"]["phase"] == "Succeeded"
    await until(lambda: not os.path.lexists(target))


async def test_a_path_of_the_user_is_never_replaced(tmp_path: Path) -> None:
    async with open_cluster(tmp_path, choose_sandbox("none")) as cluster:
        storage = Storage(cluster.api, tmp_path)
        await bind(storage)
        target = tmp_path / "nas"
        target.mkdir()
        (target / "mine").touch()
        await cluster.create(using("true", target))
        found = await cluster.see("p", lambda found: waiting(found).get("message"))
        assert waiting(found)["message"].startswith(f"mountPath {target}: something else is there, and ")
        assert (target / "mine").exists()
        await storage.stop()


async def test_a_pod_that_nobody_scheduled_waits_for_its_claim_too(
    cluster: tuple[Cluster, Storage], tmp_path: Path
) -> None:
    node, storage = cluster
    await node.create(using("echo here", tmp_path / "nas"))
    found = await node.see("p", lambda found: waiting(found).get("message"))
    assert waiting(found)["message"] == 'persistentvolumeclaim "data" not found (namespace default has none)'
    await bind(storage)
    assert await node.log(await node.end()) == "here\n"


async def test_a_pod_starts_as_soon_as_its_claim_is_bound(cluster: tuple[Cluster, Storage], tmp_path: Path) -> None:
    place, storage = cluster
    await place.api.create(NODES, fresh(node("here")) | {"status": node("here")["status"]})
    await place.api.patch(NODES, "", "here", {"status": node("here")["status"]}, subresource="status")
    scheduler = asyncio.create_task(Scheduler(place.api).run())
    manifest = using("echo here", tmp_path / "nas")
    del manifest["spec"]["nodeName"]
    await place.create(manifest)

    def reported(found: Manifest) -> bool:
        return any("not found" in it.get("message", "") for it in found["status"].get("conditions") or ())

    found = await place.see("p", reported)
    (condition,) = found["status"]["conditions"]
    assert condition["message"] == (
        '0/1 nodes are available: 1 persistentvolumeclaim "data" not found (namespace default has none).'
    )
    await bind(storage)
    assert await place.log(await place.end()) == "here\n"
    scheduler.cancel()
    await asyncio.gather(scheduler, return_exceptions=True)


async def test_read_only_is_enforced_or_said_not_to_be(cluster: tuple[Cluster, Storage], tmp_path: Path) -> None:
    node, storage = cluster
    directory, target = await bind(storage), tmp_path / "nas"
    found = await node.run(using(f"touch {target}/x", target, readOnly=True))
    if node.sandbox.binds:
        assert (found["status"]["phase"], (directory / "x").exists()) == ("Failed", False)
        assert not (await node.api.list(EVENTS, fields="reason=ReadOnlyNotEnforced")).items
    else:
        said = await storage.events("ReadOnlyNotEnforced")
        why = f"container main can write to {target} all the same; install bubblewrap to have it"
        assert said == [("Pod", f"readOnly is not enforced without a sandbox: {why}")]


async def test_a_claim_deleted_before_the_pod_starts_is_named(cluster: tuple[Cluster, Storage], tmp_path: Path) -> None:
    node, storage = cluster
    await bind(storage)
    await storage.api.delete(CLAIMS, "default", "data")
    await node.create(using("true", tmp_path / "nas"))
    await node.see("p", lambda found: "not found" in waiting(found).get("message", ""))
    await node.api.delete(PODS, "default", "p")
    await node.gone()
