"""A cluster of one machine for tests: the real embedded API in memory of this process, and a real kubelet on it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, uid_of
from paddock.node.kubelet.kubelet import Kubelet
from paddock.node.runtime import processes
from paddock.node.runtime.images import Images
from paddock.node.runtime.machine import Machine
from paddock.node.runtime.sandbox import Sandbox
from support.host_programs import HostPrograms
from support.process_state import read_children

PYTHON = sys.executable
NODE = "here"


def container(*command: str, name: str = "main", **more: Any) -> Manifest:
    return {"name": name, "image": "any", "command": list(command), **more}


def shell(script: str, name: str = "main", **more: Any) -> Manifest:
    return container("/bin/sh", "-c", script, name=name, **more)


def pod(*containers: Manifest, name: str = "p", policy: str = "Never", **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": NODE, "restartPolicy": policy, "containers": list(containers), **spec},
    }


def seeing(manifest: Manifest, path: Path) -> Manifest:
    """The pod with a directory of the machine at its own path: in bubblewrap it has another /tmp."""
    volumes = [*(manifest["spec"].get("volumes") or ()), {"name": "seen", "hostPath": {"path": str(path)}}]
    mount = {"name": "seen", "mountPath": str(path)}
    mounted = {
        section: [{**each, "volumeMounts": [*(each.get("volumeMounts") or ()), mount]} for each in found]
        for section in ("initContainers", "containers")
        if (found := manifest["spec"].get(section))
    }
    return {**manifest, "spec": {**manifest["spec"], "volumes": volumes, **mounted}}


@dataclass
class Options:
    """A log request, as an API server makes it."""

    container: str = "main"
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: float | None = None
    limit_bytes: int | None = None


@dataclass
class Cluster:
    api: LocalApi
    directory: Path
    sandbox: Sandbox
    images: Images = field(default_factory=HostPrograms)
    kubelet: Kubelet | None = None
    task: asyncio.Task[None] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def start(self, clock: Callable[[], float] = time.time) -> Kubelet:
        machine = Machine(NODE, Fraction(2), 2**33)
        self.kubelet = Kubelet(
            self.api, self.images, self.directory, machine, sandbox=self.sandbox, clock=clock, **self.settings
        )
        self.task = asyncio.create_task(self.kubelet.run())
        return self.kubelet

    async def drop(self) -> None:
        """As a crash of the daemon: nobody waits for the pods any more, and they go on."""
        assert self.task is not None
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def stop(self) -> None:
        if self.kubelet is not None and self.task is not None and not self.task.done():
            await self.kubelet.stop(0)
            await self.task

    async def create(self, manifest: Manifest) -> Manifest:
        return await self.api.create(PODS, manifest)

    async def see(self, name: str, seen: Callable[[Manifest], Any], seconds: float = 180.0) -> Manifest:
        """The pod as soon as `seen` says so of it."""
        latest: Manifest = {}
        try:
            async with asyncio.timeout(seconds):
                async for event in self.api.follow(PODS, "default", fields=f"metadata.name={name}"):
                    latest = event.object or latest
                    if event.type in ("ADDED", "MODIFIED") and seen(event.object):
                        return event.object
        except TimeoutError:
            raise AssertionError(f"pod {name} is still {latest.get('status')}") from None
        raise AssertionError("the API ended")

    async def end(self, name: str = "p", seconds: float = 180.0) -> Manifest:
        return await self.see(name, lambda found: found["status"].get("phase") in ("Succeeded", "Failed"), seconds)

    async def run(self, manifest: Manifest, seconds: float = 180.0) -> Manifest:
        await self.create(manifest)
        return await self.end(manifest["metadata"]["name"], seconds)

    async def gone(self, name: str = "p", seconds: float = 180.0) -> None:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    await self.api.get(PODS, "default", name)
                except NotFound:
                    return
                await asyncio.sleep(0.02)

    async def log(self, found: Manifest, **options: Any) -> str:
        assert self.kubelet is not None
        return b"".join([chunk async for chunk in self.kubelet.logs.read(found, Options(**options))]).decode()


@contextlib.asynccontextmanager
async def open_cluster(
    directory: Path, sandbox: Sandbox, images: Images | None = None, **settings: Any
) -> AsyncIterator[Cluster]:
    """`settings`: further arguments of the kubelet."""
    api = await LocalApi.open(directory / "api")
    cluster = Cluster(api, directory / "node", sandbox, images or HostPrograms(), settings=settings)
    cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()
        for pid in read_children():  # of a kubelet that was dropped: a crash would have left them to init
            processes.reap(pid)
        await api.close()


def terminated(found: Manifest, index: int = 0) -> Manifest:
    state: Manifest = found["status"]["containerStatuses"][index]["state"]
    return state["terminated"]


def waiting(found: Manifest, kind: str = "containerStatuses", index: int = 0) -> Manifest:
    statuses = (found.get("status") or {}).get(kind) or [{}]
    return ((statuses[index].get("state") or {}).get("waiting")) or {}


def is_running(found: Manifest) -> bool:
    return found["status"].get("phase") == "Running"


def processes_of(found: Manifest) -> list[int]:
    return marked(uid_of(found))


def marked(uid: str) -> list[int]:
    return [pid for pid, _ in processes.find_pod_processes([uid])[uid] if processes.read_birth(pid) is not None]


def log_text(cluster: Cluster, found: Manifest) -> str:
    paths = list(cluster.directory.glob(f"pods/*_{uid_of(found)}/main/0.log"))
    return paths[0].read_text() if paths else ""
