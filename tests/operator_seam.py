"""What operator tests share: the real embedded API with a seam before it, jobs, and waiting for what is to come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from paddock.apiserver.local import LocalApi
from paddock.jobs.apis import paddlepaddle
from paddock.jobs.crd import build_crds
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import Settings
from paddock.jobs.names import job_label
from paddock.kube.api import Api, Event, Listing
from paddock.kube.meta import CRDS, POD_GROUPS, PODS, Manifest, Resource, name_of
from paddock.operator.operator import Operator

JOBS = paddlepaddle.resource
SETTINGS = Settings(shared_network=True)

Request = tuple[str, str, str]
"""Verb, plural (with subresource, if any) and name: ("create", "pods", "demo-ps-0")."""


class Seam(Api):
    """Another client's view of the same API: it records requests, may fail or hold them, and may lag behind.

    `namespace`: what it follows without naming one ends at this namespace, so that many may share one API. `before` is
    asked before a request is sent; `after` once a write was done and its answer is on the way. Either may raise.
    """

    def __init__(self, api: Api, namespace: str = "") -> None:
        self.api = api
        self.namespace = namespace
        self.requests: list[Request] = []
        self.before: Callable[[Request], Awaitable[None]] | None = None
        self.after: Callable[[Request], Awaitable[None]] | None = None
        self.answers: Callable[[Request, Manifest], Manifest] = lambda request, answer: answer
        self.told: Callable[[Resource, Event], bool] = lambda resource, event: True
        self.lag: Callable[[Resource, Event], Awaitable[None]] | None = None

    async def _note(self, verb: str, resource: Resource, name: str, subresource: str = "") -> Request:
        request = (verb, f"{resource.plural}/{subresource}" if subresource else resource.plural, name)
        self.requests.append(request)
        if self.before is not None:
            await self.before(request)
        return request

    async def _done(self, request: Request) -> None:
        if self.after is not None:
            await self.after(request)

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        request = await self._note("get", resource, name)
        return self.answers(request, await self.api.get(resource, namespace, name))

    async def list(self, resource: Resource, namespace: str = "", **selectors: str) -> Listing:
        await self._note("list", resource, "")
        return await self.api.list(resource, namespace, **selectors)

    async def create(self, resource: Resource, manifest: Mapping[str, Any], **options: Any) -> Manifest:
        request = await self._note("create", resource, name_of(manifest))
        answer = await self.api.create(resource, manifest, **options)
        await self._done(request)
        return self.answers(request, answer)

    async def replace(self, resource: Resource, manifest: Mapping[str, Any], **options: Any) -> Manifest:
        await self._note("replace", resource, name_of(manifest))
        return await self.api.replace(resource, manifest, **options)

    async def patch(self, resource: Resource, namespace: str, name: str, patch: Any, **options: Any) -> Manifest:
        request = await self._note("patch", resource, name, options.get("subresource", ""))
        answer = await self.api.patch(resource, namespace, name, patch, **options)
        await self._done(request)
        return self.answers(request, answer)

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        request = await self._note("delete", resource, name)
        await self.api.delete(resource, namespace, name, **options)
        await self._done(request)

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        async for event in self.api.follow(resource, namespace or self._reach(resource), **selectors):
            if self.lag is not None:
                await self.lag(resource, event)
            if event.type == "SYNCED" or self.told(resource, event):
                yield event

    def _reach(self, resource: Resource) -> str:
        return self.namespace if resource.namespaced else ""


@asynccontextmanager
async def open_cluster(directory: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(directory)
    try:
        await install_jobs(api)
        yield api
    finally:
        await api.close()


async def install_jobs(api: Api) -> None:
    for crd in build_crds():
        await api.create(CRDS, crd)


async def install_pod_groups(api: Api) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": POD_GROUPS.plural, "kind": POD_GROUPS.kind}
    version = {"name": POD_GROUPS.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": POD_GROUPS.group, "names": names, "scope": "Namespaced", "versions": [version]}
    crd = {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": f"{POD_GROUPS.plural}.{POD_GROUPS.group}"},
        "spec": spec,
    }
    await api.create(CRDS, crd)


@asynccontextmanager
async def running(api: Api, settings: Settings = SETTINGS, **options: Any) -> AsyncIterator[Operator]:
    """An operator that is ready; it is cancelled at the end, as a crash would."""
    operator = Operator(api, settings, **options)
    task = asyncio.create_task(operator.run())
    try:
        async with asyncio.timeout(10):
            await operator.ready.wait()
        yield operator
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def build_job(name: str = "demo", *, ps: int = 2, worker: int = 2, namespace: str = "default", **spec: Any) -> Manifest:
    container = {"name": "paddle", "image": "paddle:test", "command": ["python", "train.py"]}
    roles = {
        role: {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
        for role, replicas in (("ps", ps), ("worker", worker))
        if replicas
    }
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**roles, **spec},
    }


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 10.0) -> Any:
    """What the condition returns, once that is true. The embedded API answers at once, so asking again is cheap."""
    async with asyncio.timeout(seconds):
        while True:
            if found := await condition():
                return found
            await asyncio.sleep(0.01)


async def settled(seam: Seam, seconds: float = 0.2) -> None:
    """Returns once nothing was asked of the API for so long: what was to be done has been done."""
    async with asyncio.timeout(10):
        before = -1
        while len(seam.requests) != before:
            before = len(seam.requests)
            await asyncio.sleep(seconds)


async def pods_of(api: Api, name: str = "demo", namespace: str = "default") -> dict[str, Manifest]:
    """The live pods of a job by name, without those that are on their way out."""
    listing = await api.list(PODS, namespace, labels=f"{JOB_LABEL}={job_label(name)}")
    return {name_of(pod): pod for pod in listing.items if not pod["metadata"].get("deletionTimestamp")}


async def have_pods(api: Api, count: int, name: str = "demo", namespace: str = "default") -> dict[str, Manifest]:
    found = await pods_of(api, name, namespace)
    return found if len(found) == count else {}


async def set_phase(
    api: Api, pod: str, phase: str, code: int = 0, address: str = "127.0.0.2", namespace: str = "default"
) -> None:
    """What a kubelet would publish."""
    state: Manifest = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    if phase in ("Succeeded", "Failed"):
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed",
                                "finishedAt": "2026-01-01T00:01:00Z"}}  # fmt: skip
    container = {"name": "paddle", "ready": phase == "Running", "state": state, "image": "x", "imageID": "x",
                 "restartCount": 0}  # fmt: skip
    status = {"phase": phase, "podIP": address, "containerStatuses": [container]}
    await api.patch(PODS, namespace, pod, {"status": status}, subresource="status")


async def status_of(api: Api, name: str = "demo", namespace: str = "default") -> Manifest:
    job = await api.get(JOBS, namespace, name)
    return dict(job.get("status") or {})
