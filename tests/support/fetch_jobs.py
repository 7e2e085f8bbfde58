"""Jobs of batch/v1 on the embedded API, which serves none: kept by a definition of another group. The test is the Job
controller and the kubelet: it makes a Job's pods and says how they go, by the status that those would write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import msgspec

from paddock.datasets.crd import build_crd
from paddock.datasets.fetching import Report, build_line
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import NotFound
from paddock.kube.meta import (
    BATCH_JOBS,
    CLAIMS,
    CRDS,
    DATASETS,
    EVENTS,
    PODS,
    Manifest,
    Resource,
    name_of,
    owner_reference,
)
from support.rights import Wrapper
from support.waiting import until

STAND_IN = replace(BATCH_JOBS, group="batch.example.dev")
_SECONDS = count()


class WithBatchJobs(Wrapper):
    """`drops_failure_policy`: as servers before Kubernetes 1.26 do."""

    drops_failure_policy = False

    async def send(self, call: Call[T]) -> T:
        if call.resource != BATCH_JOBS:
            return await super().send(call)
        changes: dict[str, Any] = {"resource": STAND_IN}
        if isinstance(call, Create):
            spec = dict(call.manifest["spec"])
            if self.drops_failure_policy:
                del spec["podFailurePolicy"]
            changes["manifest"] = {**call.manifest, "apiVersion": STAND_IN.api_version, "spec": spec}
        return await super().send(msgspec.structs.replace(call, **changes))

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        async for event in super().follow(STAND_IN if resource == BATCH_JOBS else resource, namespace, **selectors):
            yield event


async def install(api: Api) -> None:
    """The definitions of datasets and of Jobs."""
    await api.create(CRDS, build_crd())
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
               "subresources": {"status": {}}}  # fmt: skip
    spec = {"group": STAND_IN.group, "names": {"kind": "Job", "plural": "jobs"}, "scope": "Namespaced",
            "versions": [version]}  # fmt: skip
    metadata = {"name": STAND_IN.qualified}
    await api.create(CRDS, {"apiVersion": CRDS.api_version, "kind": CRDS.kind, "metadata": metadata, "spec": spec})


def build_dataset(name: str, namespace: str, uri: str, **spec: Any) -> Manifest:
    """`spec`: fields of the source, and `round`, `storage`."""
    source = {"uri": uri} | {name: value for name, value in spec.items() if name not in ("round", "storage")}
    rest = {name: value for name, value in spec.items() if name in ("round", "storage")}
    return {
        "apiVersion": DATASETS.api_version,
        "kind": DATASETS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"source": source, **rest},
    }


@dataclass(slots=True)
class Cluster:
    """What acts on Jobs, pods and claims of one namespace. `logs`: what a pod prints, by its name."""

    api: Api
    namespace: str
    logs: dict[str, list[bytes]] = field(default_factory=dict)

    async def read_log(self, namespace: str, pod: str) -> bytes:
        if pod not in self.logs:
            raise NotFound(f'pods "{pod}" not found')
        return b"".join(self.logs[pod])

    async def jobs(self) -> list[Manifest]:
        return (await self.api.list(BATCH_JOBS, self.namespace)).items

    async def job(self, but: str = "") -> Manifest:
        """The one Job, once it is there."""

        async def found() -> Manifest | None:
            return next((each for each in await self.jobs() if name_of(each) != but), None)

        job: Manifest = await until(found)
        return job

    async def claim(self) -> Manifest:
        (claim,) = (await self.api.list(CLAIMS, self.namespace)).items
        return claim

    async def make_pod(self, job: Manifest, node: str = "") -> str:
        """As the Job controller does. Several are made in one second, so their names have the order. On a node, it goes
        only when the kubelet, which is the test, says so."""
        template = job["spec"]["template"]
        spec = template["spec"] | ({"nodeName": node} if node else {})
        name = f"{name_of(job)}-{next(_SECONDS):06}"
        metadata = {**template["metadata"], "name": name, "namespace": self.namespace,
                    "ownerReferences": [owner_reference(job | {"apiVersion": BATCH_JOBS.api_version})]}  # fmt: skip
        await self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        return name

    async def start_pod(self, job: Manifest) -> str:
        name = await self.make_pod(job, "node-1")
        self.logs[name] = []
        await self.set_pod(name, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
        return name

    def say(self, pod: str, report: Report) -> None:
        self.logs[pod].append(build_line(report))

    async def end_pod(self, pod: str, code: int, report: Report | None = None, reason: str = "") -> None:
        """`report`: what the child has written as its termination message."""
        message = {"message": build_line(report).decode()} if report else {}
        terminated = {"exitCode": code, "reason": reason or ("Error" if code else "Completed"),
                      "finishedAt": "2026-01-01T00:01:00Z", **message}  # fmt: skip
        await self.set_pod(pod, "Failed" if code else "Succeeded", {"terminated": terminated})

    async def set_pod(self, pod: str, phase: str, state: Manifest, conditions: Sequence[Manifest] = ()) -> None:
        container = {"name": "fetch", "ready": False, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
        status = {"phase": phase, "containerStatuses": [container], "conditions": list(conditions)}
        await self.api.patch(PODS, self.namespace, pod, {"status": status}, subresource="status")

    async def end_job(self, job: Manifest, condition: str, **status: Any) -> None:
        """`condition`: Complete or Failed."""
        ended = {"conditions": [{"type": condition, "status": "True"}], **status}
        await self.api.patch(BATCH_JOBS, self.namespace, name_of(job), {"status": ended}, subresource="status")

    async def bind_claim(self, name: str) -> None:
        await self.api.patch(CLAIMS, self.namespace, name, {"status": {"phase": "Bound"}}, subresource="status")

    async def warn(self, of: Manifest, reason: str, message: str, kind: str = "Warning") -> None:
        """An event on an object, as another controller writes it."""
        metadata = of["metadata"]
        involved = {"kind": of["kind"], "namespace": self.namespace, "name": metadata["name"], "uid": metadata["uid"]}
        event = {"apiVersion": "v1", "kind": "Event", "involvedObject": involved, "type": kind, "reason": reason,
                 "message": message, "lastTimestamp": "2026-01-01T00:00:00Z",
                 "metadata": {"name": f"{metadata['name']}.{next(_SECONDS)}", "namespace": self.namespace}}  # fmt: skip
        await self.api.create(EVENTS, event)
