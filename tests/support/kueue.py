"""A hand-written controller that plays Kueue, with its field names: definitions of our own, and its contract with jobs.

Sources: kueue pkg/controller/jobframework/reconciler.go, pkg/controller/jobs/kubeflow, apis/kueue/v1beta2. It stops and
starts a job by one patch each. It gives quota away again when no replica is active, and then looks whether pods are
left: those would hold devices that are promised to somebody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, Conflict, NotFound
from paddock.kube.kueue import WORKLOADS
from paddock.kube.meta import CRDS, PODS, Manifest, Resource, labels_of, name_of, uid_of
from support.kubeflow_jobs import FIELDS, kind_of

WORKLOAD = WORKLOADS[0]
QUEUE = "kueue.x-k8s.io/queue-name"
JOB = "training.kubeflow.org/job-name"
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def build_definition(resource: Resource = WORKLOAD) -> Manifest:
    schema = {"type": "object", "properties": {"spec": _FREE, "status": _FREE}}
    version = {"name": resource.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
               "subresources": {"status": {}}}  # fmt: skip
    names = {"plural": resource.plural, "singular": "workload", "kind": resource.kind, "listKind": "WorkloadList"}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.qualified, "annotations": {"api-approved.kubernetes.io": "unapproved"}},
        "spec": {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


@dataclass(frozen=True, slots=True)
class Flavor:
    """What Kueue injects into the templates of a job that it admits."""

    name: str

    def inject(self) -> Manifest:
        toleration = {"key": "flavor", "operator": "Equal", "value": self.name, "effect": "NoSchedule"}
        return {
            "metadata": {
                "labels": {"kueue.x-k8s.io/podset": "worker", "kueue.x-k8s.io/local-queue-name": "team"},
                "annotations": {"kueue.x-k8s.io/workload": self.name},
            },
            "spec": {"nodeSelector": {"flavor": self.name}, "tolerations": [toleration]},
        }


_TAKEN_BACK: Manifest = {
    "metadata": {
        "labels": {"kueue.x-k8s.io/podset": None, "kueue.x-k8s.io/local-queue-name": None},
        "annotations": {"kueue.x-k8s.io/workload": None},
    },
    "spec": {"nodeSelector": {"flavor": None}, "tolerations": None},
}


@dataclass(slots=True)
class Kueue:
    """One ClusterQueue of `quota` pods, and one LocalQueue in the namespace. `released`: by job, how many pods there
    were when its quota was given away, which must be none."""

    api: Api
    namespace: str
    kind: str = "PyTorchJob"
    quota: int = 2
    flavor: Flavor = Flavor("spot")
    held: dict[str, int] = field(default_factory=dict)
    stopping: set[str] = field(default_factory=set)
    released: list[tuple[str, int]] = field(default_factory=list)
    ready: set[str] = field(default_factory=set)

    async def submit(self, job: Manifest) -> None:
        """Creates a job as the API server does after Kueue's webhook: suspended, with its queue."""
        job["metadata"].setdefault("labels", {})[QUEUE] = "team"
        job["spec"].setdefault("runPolicy", {})["suspend"] = True
        await self.api.create(kind_of(self.kind), job)

    async def evict(self, name: str, reason: str = "Preempted") -> None:
        """One patch: suspended, and the templates as they were. The quota stays until no replica is active."""
        self.stopping.add(name)
        await self._patch_job(name, suspend=True, template=_TAKEN_BACK)
        await self._say(name, "Evicted", "True", reason, "to make room for a Workload of higher priority")
        await self._say(name, "QuotaReserved", "False", "Pending", "The workload has been evicted")

    async def pass_once(self) -> None:
        """Everything that Kueue's reconciler does with the jobs that exist now."""
        for job in (await self.api.list(kind_of(self.kind), self.namespace)).items:
            if QUEUE in labels_of(job):
                with suppress(Conflict, NotFound, AlreadyExists):
                    await self._reconcile(job)

    async def workload(self, name: str) -> Manifest | None:
        try:
            return await self.api.get(WORKLOAD, self.namespace, f"job-{name}")
        except NotFound:
            return None

    async def _reconcile(self, job: Manifest) -> None:
        name, active = name_of(job), self._count_active(job)
        conditions = (job.get("status") or {}).get("conditions") or ()
        states = {each["type"] for each in conditions if each["status"] == "True"}
        if "Running" in states:
            self.ready.add(name)
        if name in self.stopping or states & {"Succeeded", "Failed"}:
            if not active and name in self.held:
                self.released.append((name, await self._count_pods(name)))
                del self.held[name]
                self.stopping.discard(name)
            if name in self.stopping or states & {"Succeeded", "Failed"}:
                return
        if await self.workload(name) is None:
            if not job["spec"]["runPolicy"].get("suspend"):  # the Workload was deleted under the job: it is stopped
                self.stopping.add(name)
                await self._patch_job(name, suspend=True, template=_TAKEN_BACK)
            elif not active:
                await self._make_workload(job)
        elif job["spec"]["runPolicy"].get("suspend") and not active:
            await self._admit(job)

    def _count_active(self, job: Manifest) -> int:
        counts = (job.get("status") or {}).get("replicaStatuses") or {}
        return sum(each.get("active", 0) for each in counts.values())

    async def _count_pods(self, name: str) -> int:
        pods = (await self.api.list(PODS, self.namespace, labels=f"{JOB}={name}")).items
        return sum(pod["status"].get("phase") not in ("Succeeded", "Failed") for pod in pods)

    async def _make_workload(self, job: Manifest) -> None:
        owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": name_of(job), "uid": uid_of(job)}
        sets = [
            {"name": role.lower(), "count": spec.get("replicas", 1), "template": spec["template"]}
            for role, spec in job["spec"][FIELDS[self.kind]].items()
        ]
        manifest = {
            "apiVersion": WORKLOAD.api_version,
            "kind": WORKLOAD.kind,
            "metadata": {"name": f"job-{name_of(job)}", "namespace": self.namespace, "ownerReferences": [owner]},
            "spec": {"queueName": "team", "podSets": sets},
        }
        await self.api.create(WORKLOAD, manifest)

    async def _admit(self, job: Manifest) -> None:
        name = name_of(job)
        wanted = sum(spec.get("replicas", 1) for spec in job["spec"][FIELDS[self.kind]].values())
        if sum(self.held.values()) + wanted > self.quota:
            await self._say(name, "QuotaReserved", "False", "WaitingForQuota", "insufficient unused quota for cpu")
            return
        self.held[name] = wanted
        await self._say(name, "QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue all")
        await self._patch_job(name, suspend=False, template=self.flavor.inject())

    async def _patch_job(self, name: str, *, suspend: bool, template: Manifest) -> None:
        job = await self.api.get(kind_of(self.kind), self.namespace, name)
        roles = {role: {"template": template} for role in job["spec"][FIELDS[self.kind]]}
        spec = {"runPolicy": {"suspend": suspend}, FIELDS[self.kind]: roles}
        await self.api.patch(kind_of(self.kind), self.namespace, name, {"spec": spec})

    async def _say(self, name: str, type_: str, status: str, reason: str, message: str) -> None:
        workload = await self.workload(name)
        if workload is None:
            return
        condition = {"type": type_, "status": status, "reason": reason, "message": message}
        before = (workload.get("status") or {}).get("conditions") or []
        if condition not in before:
            conditions = [*(each for each in before if each["type"] != type_), condition]
            patch: dict[str, Any] = {"status": {"conditions": conditions}}
            await self.api.patch(WORKLOAD, self.namespace, f"job-{name}", patch, subresource="status")


@asynccontextmanager
async def playing(kueue: Kueue) -> AsyncIterator[Kueue]:
    """It reconciles all the time, as often as the API answers."""
    with suppress(AlreadyExists):
        await kueue.api.create(CRDS, build_definition())
    async with asyncio.timeout(120):
        while True:
            try:
                await kueue.api.list(WORKLOAD, kueue.namespace)
                break
            except NotFound:
                await asyncio.sleep(0.05)

    async def loop() -> None:
        while True:
            await kueue.pass_once()
            await asyncio.sleep(0.02)

    task = asyncio.create_task(loop())
    try:
        yield kueue
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
