"""The two worlds that an operator serves, the embedded API and a real Kubernetes API server; tests run in both.

A world is an `Api` with all rights and its own namespace. Neither runs pods: a test writes the statuses that a kubelet
would write (`support.operator_seam.set_phase` and similar functions).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.install.crd import build_crds
from paddock.jobs.apis.registry import KINDS
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, Forbidden, InternalError, NotFound
from paddock.kube.meta import CRDS, LEASES, NAMESPACES, PODS, Manifest, Resource, name_of
from support.operator_seam import open_installed
from support.programs import lack, need

_TOOLS = Path(__file__).resolve().parents[2] / "tools" / "kubernetes"
_SERIAL = count()

_NO_POD_GC = "--flag=kube-controller-manager:--controllers=*,-podgc"
"""Each 20 s, this controller deletes pods that have no node and are being deleted. It does so by their names, without
UIDs, so it may hit the next pod of a name: 5 of 27,944 pods that were made again at once were gone, none without it."""


def find_programs() -> Path:
    """The folder of kube-apiserver and etcd: $KUBEBUILDER_ASSETS, else what `make kubernetes` has built, or
    the test is skipped."""
    if named := os.environ.get("KUBEBUILDER_ASSETS"):
        found = Path(named)
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        found = next(iter(sorted((cache / "paddock" / "kubernetes").glob("*/bin"), reverse=True)), cache)
    if not (found / "kube-apiserver").exists():
        lack("kube-apiserver", "is not here: `make kubernetes` builds it, or set KUBEBUILDER_ASSETS")
    return found


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane, in its own directory. `kubeconfig` is an administrator's."""

    home: Path
    programs: Path

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    @property
    def kubectl(self) -> Path:
        return self.programs / "kubectl"

    def up(self, *options: str) -> None:
        self._call("control_plane.py", "up", str(self.home), "--bin", str(self.programs), *options)

    def down(self, *options: str) -> None:
        self._call("control_plane.py", "down", str(self.home), *options)

    def node(self, verb: str, *options: str) -> None:
        self._call("node.py", verb, str(self.home), *options)

    def address(self, *options: str) -> None:
        """The address of a real node, on this machine's loopback interface; the API may listen there (`--address`)."""
        self._call("node.py", "address", *options)

    def _call(self, program: str, *words: str) -> None:
        done = subprocess.run([sys.executable, str(_TOOLS / program), *words], capture_output=True, text=True)
        assert done.returncode == 0, f"{program} {' '.join(words)}: {done.stderr}"


@contextmanager
def open_control_plane(directory: Path, *options: str) -> Iterator[ControlPlane]:
    """etcd, kube-apiserver and the controllers (garbage collection, namespaces), with no node. Where no scheduler gives
    pods their nodes, nobody but a test ends pods."""
    plane = ControlPlane(directory, find_programs())
    scheduled = "--scheduler" in options
    try:
        plane.up("--controllers", *([] if scheduled else [_NO_POD_GC]), *options)
        yield plane
    finally:
        plane.down()


@contextmanager
def open_hollow_nodes(directory: Path, number: int) -> Iterator[ControlPlane]:
    """A control plane with kube-scheduler and hollow nodes: kubelets that say that pods run, and run nothing."""
    need("kubemark", path=str(find_programs()))
    with open_control_plane(directory, "--scheduler") as plane:
        try:
            plane.node("up", "--hollow", str(number))
            yield plane
        finally:
            plane.node("down")


@dataclass(frozen=True, slots=True)
class World:
    """`control_plane` is None in the embedded world, whose API has no address: it is inside this process."""

    api: Api
    namespace: str
    control_plane: ControlPlane | None = None

    @property
    def real(self) -> bool:
        return self.control_plane is not None


@asynccontextmanager
async def open_embedded(directory: Path) -> AsyncIterator[World]:
    api = await open_installed(directory)
    try:
        yield World(api, await create_namespace(api))
    finally:
        await api.close()


@asynccontextmanager
async def open_real(control_plane: ControlPlane) -> AsyncIterator[World]:
    async with Client(read_config(str(control_plane.kubeconfig))) as api:
        await install_jobs(api)
        namespace = await create_namespace(api)
        await _until_pods_may_be_made(api, namespace)
        try:
            yield World(api, namespace, control_plane)
        finally:
            await remove_namespace(api, namespace)


async def create_namespace(api: Api) -> str:
    """A namespace of this test only."""
    name = f"test-{os.getpid()}-{next(_SERIAL)}"
    manifest: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await api.create(NAMESPACES, manifest)
    return name


async def remove_namespace(api: Api, namespace: str) -> None:
    """Deletes the namespace, and before it the objects that other tests could see while it terminates: held Leases,
    jobs that an operator of all namespaces would take, pods that use resources of a node."""
    for resource in (*KINDS, PODS, LEASES):
        with suppress(NotFound):  # a kind that is not installed
            for each in (await api.list(resource, namespace)).items:
                await _remove(api, resource, namespace, each)
    await api.delete(NAMESPACES, "", namespace)


async def _remove(api: Api, resource: Resource, namespace: str, manifest: Manifest) -> None:
    with suppress(NotFound):
        if manifest["metadata"].get("finalizers"):
            await api.patch(resource, namespace, name_of(manifest), {"metadata": {"finalizers": None}})
        await api.delete(resource, namespace, name_of(manifest), grace=0 if resource is PODS else None)


async def _until_pods_may_be_made(api: Api, namespace: str) -> None:
    """A new namespace has no service account for pods at first; before 1.24 that account gets its token later."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "asking", "namespace": namespace},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    async with asyncio.timeout(180):
        while True:
            try:
                await api.create(PODS, pod, dry_run=True)
                return
            except (Forbidden, InternalError):
                await asyncio.sleep(0.05)


async def install_jobs(api: Api) -> None:
    """Creates the CRDs of all kinds of job; they are served when this returns."""
    for crd in build_crds():
        try:
            await api.create(CRDS, crd)
        except AlreadyExists:
            continue
    async with asyncio.timeout(180):
        for crd in build_crds():
            await _until_served(api, name_of(crd))
        await _until_listed(api)


async def _until_served(api: Api, crd: str) -> None:
    while not _is_served(await api.get(CRDS, "", crd)):  # noqa: ASYNC110 - it is the server that is waited for
        await asyncio.sleep(0.05)


async def _until_listed(api: Api) -> None:
    """A real server serves a kind some time after its CRD is Established."""
    for resource in KINDS:
        while True:
            try:
                await api.list(resource)
                break
            except NotFound:
                await asyncio.sleep(0.05)


def _is_served(crd: Manifest) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
