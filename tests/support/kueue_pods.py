"""A hand-written player of Kueue's integration of plain pods: its webhook, its groups, and how it stops them.

Sources: kueue of 2026-08, pkg/controller/jobs/pod (pod_webhook.go, pod_controller.go), and what was seen with the real
one: the webhook adds gate, label and finalizer; a group is admitted as a whole by the removal of all gates; an evicted
pod gets the condition TerminationTarget with the reason and message of its Workload's eviction, and is deleted; the
finalizer goes once the pod's phase is Failed or Succeeded, or it was never placed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from msgspec import structs

from paddock.jobs.queued import COUNT_ANNOTATION, GATE, GROUP_LABEL, MANAGED
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import PODS, Manifest, Resource, annotations_of, is_deleting, labels_of, name_of
from support.kueue import QUEUE

PREEMPTED = (
    "Preempted to accommodate a workload (UID: urgent-workload, JobUID: urgent-job) due to prioritization in the "
    "ClusterQueue; preemptor path: /all; preemptee path: /all"
)
GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked"}


class Webhook(Api):
    """The API as clients see it behind Kueue's webhook. `on`: it is in force for pods here. `asked`: how often it was
    asked, by whether the create was to store something."""

    def __init__(self, api: Api, *, on: bool = True) -> None:
        self.api, self.on = api, on
        self.asked: list[bool] = []

    async def send(self, call: Call[T]) -> T:
        if not (isinstance(call, Create) and call.resource == PODS and QUEUE in labels_of(call.manifest)):
            return await self.api.send(call)
        self.asked.append(not call.dry_run)
        if not self.on:
            return await self.api.send(call)
        answer = await self.api.send(structs.replace(call, manifest=gate(call.manifest)))
        if not call.dry_run:  # as the API server of 1.27 does in the same write
            told = {"status": {"conditions": [GATED]}}
            await self.api.patch(PODS, call.namespace, call.name, told, subresource="status")
        return answer

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        async for event in self.api.follow(resource, namespace, **selectors):
            yield event


def gate(pod: Any) -> Manifest:
    metadata = {**pod["metadata"], "labels": {**labels_of(pod), MANAGED: "true"}, "finalizers": [MANAGED]}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "schedulingGates": [{"name": GATE}]}}


class Groups:
    """The groups of one namespace, which a test admits and stops."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    async def pods(self, group: str = "") -> list[Manifest]:
        found = (await self.api.list(PODS, self.namespace, labels=GROUP_LABEL)).items
        return [pod for pod in found if not group or labels_of(pod)[GROUP_LABEL] == group]

    async def find_whole(self) -> str:
        """A group all of whose pods wait at their gates; empty without one."""
        groups: dict[str, list[Manifest]] = {}
        for pod in await self.pods():
            if pod["spec"].get("schedulingGates") and not is_deleting(pod):
                groups.setdefault(labels_of(pod)[GROUP_LABEL], []).append(pod)
        whole = (name for name, pods in groups.items() if len(pods) == int(annotations_of(pods[0])[COUNT_ANNOTATION]))
        return next(whole, "")

    async def admit(self, group: str) -> None:
        for pod in await self.pods(group):
            await self._patch(pod, {"spec": {"schedulingGates": None}})
            await self._patch(pod, {"status": {"conditions": None}}, subresource="status")

    async def stop(self, group: str, reason: str = "WorkloadEvictedDueToPreempted", message: str = PREEMPTED) -> None:
        condition = {"type": "TerminationTarget", "status": "True", "reason": reason, "message": message}
        for pod in await self.pods(group):
            told = [*((pod.get("status") or {}).get("conditions") or ()), condition]
            await self._patch(pod, {"status": {"conditions": told}}, subresource="status")
            with suppress(NotFound):
                await self.api.delete(PODS, self.namespace, name_of(pod))

    async def end(self, group: str, code: int = 143) -> None:
        """What the kubelet and then Kueue do about pods that are being deleted."""
        for pod in await self.pods(group):
            ended = {"terminated": {"exitCode": code, "finishedAt": pod["metadata"].get("deletionTimestamp")}}
            status = {"phase": "Failed", "containerStatuses": [{"name": "paddle", "state": ended}]}
            await self._patch(pod, {"status": status}, subresource="status")
            await self._patch(pod, {"metadata": {"finalizers": None}})
            with suppress(NotFound):
                await self.api.delete(PODS, self.namespace, name_of(pod), grace=0)

    async def _patch(self, pod: Manifest, patch: Manifest, subresource: str = "") -> None:
        with suppress(NotFound, Conflict):
            await self.api.patch(PODS, self.namespace, name_of(pod), patch, subresource=subresource)
