"""Shared by tests of the operator: the real embedded API with a seam before it, jobs, and functions that wait."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from paddock.apiserver.objects.in_process import LocalApi
from paddock.install.crd import build_crds
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.labels import ATTEMPT_LABEL, JOB_LABEL
from paddock.jobs.model import Settings
from paddock.jobs.names import job_label
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Get, List, T
from paddock.kube.errors import ApiError
from paddock.kube.meta import CONFIG_MAPS, CRDS, EVENTS, POD_GROUPS, PODS, Manifest, Resource, name_of
from paddock.operator.operator import Operator
from paddock.operator.readings import Readings
from support.waiting import rest

JOBS = PADDLEPADDLE.resource
SETTINGS = Settings(shared_network=True)

Request = tuple[str, str, str]
"""Verb, plural (with subresource, if any) and name: ("create", "pods", "demo-ps-0")."""


class Seam(Api):
    """A client of the same API that records requests, can fail or delay them, and can delay events.

    `namespace`: it follows only this namespace where a caller follows all, so several can share one API. `before` is
    called before each request, `after` after each write and before its answer. Both may raise.
    """

    def __init__(self, api: Api, namespace: str = "") -> None:
        self.api = api
        self.namespace = namespace
        self.requests: list[Request] = []
        self.unanswered = 0
        self.before: Callable[[Request], Awaitable[None]] | None = None
        self.after: Callable[[Request], Awaitable[None]] | None = None
        self.answers: Callable[[Request, Manifest], Manifest] = lambda request, answer: answer
        self.told: Callable[[Resource, Event], bool] = lambda resource, event: True
        self.lag: Callable[[Resource, Event], Awaitable[None]] | None = None

    async def send(self, call: Call[T]) -> T:
        request = name_request(call)
        self.requests.append(request)
        self.unanswered += 1
        try:
            return await self._send(call, request)
        finally:
            self.unanswered -= 1

    async def _send(self, call: Call[T], request: Request) -> T:
        if self.before is not None:
            await self.before(request)
        answer: Any = await self.api.send(call)
        if self.after is not None and not isinstance(call, Get | List):
            await self.after(request)
        return self.answers(request, answer) if isinstance(answer, dict) else answer

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        async for event in self.api.follow(resource, namespace or self._reach(resource), **selectors):
            if self.lag is not None:
                await self.lag(resource, event)
            if event.type == "SYNCED" or self.told(resource, event):
                yield event

    def _reach(self, resource: Resource) -> str:
        return self.namespace if resource.namespaced else ""


def name_request(call: Call[Any]) -> Request:
    resource = f"{call.resource.plural}/{call.subresource}" if call.subresource else call.resource.plural
    return type(call).__name__.lower(), resource, call.name


async def find_config_map(api: Api, namespace: str = "default", attempt: int = 0, job: str = "demo") -> Manifest:
    """The ConfigMap with the endpoints of this attempt; empty if there is none."""
    labels = f"{JOB_LABEL}={job_label(job)},{ATTEMPT_LABEL}={attempt}"
    return next(iter((await api.list(CONFIG_MAPS, namespace, labels=labels)).items), {})


@asynccontextmanager
async def open_cluster(directory: Path) -> AsyncIterator[LocalApi]:
    """The embedded API with the kinds of job."""
    api = await open_installed(directory)
    try:
        yield api
    finally:
        await api.close()


_INSTALLED: dict[int, tempfile.TemporaryDirectory[str]] = {}
"""By the process: the store of a server in which the kinds of job are installed, and nothing else."""


async def open_installed(directory: Path) -> LocalApi:
    """Begins with a copy of a store: to check what is installed takes longer than most tests of the operator."""
    made = _INSTALLED.get(os.getpid())
    if made is None:
        made = _INSTALLED[os.getpid()] = tempfile.TemporaryDirectory(prefix="installed-")
        api = await LocalApi.open(Path(made.name))
        await install_jobs(api)
        await api.close()
    shutil.copytree(made.name, directory, dirs_exist_ok=True)
    return await LocalApi.open(directory)


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


async def describe(api: Api) -> str:
    """The jobs, pods and events of the namespaces of this process's tests: what a failed wait has left."""
    try:
        jobs, pods, events = [(await api.list(each)).items for each in (JOBS, PODS, EVENTS)]
    except (ApiError, OSError) as error:
        return f"what was there is not known: {error}"
    mine = [each for each in (*jobs, *pods) if _is_ours(each["metadata"]["namespace"])]
    told = [f"{each['kind']} {name_of(each)} {each['metadata']}: {each.get('status')}" for each in mine]
    names = {each["metadata"]["namespace"] for each in mine}
    about = [each for each in events if each["metadata"].get("namespace") in names]
    told += [f"Event {each.get('lastTimestamp')} {each.get('reason')}: {each.get('message')}" for each in about[-30:]]
    return "\n".join(told)


def _is_ours(namespace: str) -> bool:
    """Several processes of tests share a real server, and each has namespaces of its own (`support.worlds`)."""
    return namespace == "default" or f"-{os.getpid()}-" in namespace


@asynccontextmanager
async def running(
    api: Api, settings: Settings = SETTINGS, readings: Readings | None = None, **options: Any
) -> AsyncIterator[Operator]:
    """A ready operator; it is cancelled at the end, like a crash. A failure tells what was there."""
    operator = Operator(api, settings, readings=readings, **options)
    task = asyncio.create_task(operator.run())
    try:
        async with asyncio.timeout(180):
            await operator.ready.wait()
        yield operator
    except Exception as error:
        error.add_note(await describe(api))
        raise
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


async def settled(seam: Seam, seconds: float = 0.5) -> None:
    """Returns once the operator has asked the API nothing for this long: it has finished its work. Counts are recorded
    a third of a second late."""

    async def count_requests() -> object:
        await seam.api.list(CONFIG_MAPS, seam.namespace or "default")  # as slow as what the operator waits for
        return object() if seam.unanswered else len(seam.requests)

    await rest(count_requests, seconds)


async def pods_of(api: Api, name: str = "demo", namespace: str = "default") -> dict[str, Manifest]:
    """The pods of a job by name, without those that are being deleted."""
    listing = await api.list(PODS, namespace, labels=f"{JOB_LABEL}={job_label(name)}")
    return {name_of(pod): pod for pod in listing.items if not pod["metadata"].get("deletionTimestamp")}


async def have_pods(api: Api, count: int, name: str = "demo", namespace: str = "default") -> dict[str, Manifest]:
    found = await pods_of(api, name, namespace)
    return found if len(found) == count else {}


async def set_phase(
    api: Api, pod: str, phase: str, code: int = 0, address: str = "127.0.0.2", namespace: str = "default"
) -> None:
    """Writes the status that a kubelet would write."""
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
