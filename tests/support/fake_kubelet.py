"""A kubelet without containers: it sets the statuses of the pods of one namespace, through the API only.

Each pod is bound, gets an address, is told to lack the ConfigMap that it reads, runs once that is there and the pod was
changed (a real one looks again after 10 seconds, this one never), and ends as the test says, once its whole gang runs
(ranks train together or not at all). A pod that is to go goes after its grace, which is a moment. So it
asks of the operator what a node does: deletes take time, addresses come late, and nobody waits for the status.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from paddock.controllers.cache import Cache
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL, WOKEN_ANNOTATION
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import (
    CONFIG_MAPS,
    NODES,
    PODS,
    Key,
    Manifest,
    annotations_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
    version_of,
)
from paddock.kube.times import format_time

Ends = Callable[[int, str, int], int | None]
"""Attempt, role and index -> the exit code with which that rank's program ends; None: it does not."""

_NODE = "fake-node"
_ADDRESSES = count()


class Kubelet:
    """`made`: every pod so far, by UID. `doubles`: a sentence for each case of two pods of one rank, which is a bug.

    `starts`: whether pods that wait may run.
    """

    def __init__(self, api: Api, namespace: str, ends: Ends, gang: int, starts: Callable[[], bool]) -> None:
        self.made: dict[str, Manifest] = {}
        self.doubles: list[str] = []
        self._api = api
        self._namespace = namespace
        self._ends = ends
        self._gang = gang
        self._starts = starts
        self._news = asyncio.Event()
        self._pods = Cache(api, PODS, namespace, on_change=self._see, indexes={"namespace": lambda _: [namespace]})
        self._config_maps = Cache(api, CONFIG_MAPS, namespace, on_change=lambda _: self._news.set())

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pods.run())
            group.create_task(self._config_maps.run())
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):  # what a program does by itself is no news
                        await self._news.wait()
                self._news.clear()
                await asyncio.gather(*(self._step(pod) for pod in self._there()))

    def _there(self) -> list[Manifest]:
        """The pods of jobs; other pods are ignored."""
        return [pod for pod in self._pods.find("namespace", self._namespace) if JOB_LABEL in labels_of(pod)]

    def _see(self, pod: Manifest) -> None:
        self._news.set()
        if JOB_LABEL in labels_of(pod):
            self.made.setdefault(uid_of(pod), pod)
        ranks: dict[tuple[str | None, ...], str] = {}
        for each in self._there():
            rank = tuple(labels_of(each).get(label) for label in (JOB_LABEL, ROLE_LABEL, INDEX_LABEL))
            if (other := ranks.setdefault(rank, name_of(each))) != name_of(each):
                self.doubles.append(f"{other} and {name_of(each)} are both {rank}")

    async def _step(self, pod: Manifest) -> None:
        """One step of a pod. If another client wrote it meanwhile, the next event continues."""
        try:
            await self._walk(pod, pod.get("status") or {})
        except (NotFound, Conflict):
            self._news.set()
            await asyncio.sleep(0.005)
        except ApiError:  # a server that is away: a kubelet goes on trying
            self._news.set()
            await asyncio.sleep(0.1)

    async def _walk(self, pod: Manifest, status: Manifest) -> None:
        if is_deleting(pod):
            await self._api.delete(PODS, namespace_of(pod), name_of(pod), uid=uid_of(pod), grace=0)
        elif not pod["spec"].get("nodeName"):
            await self._bind(pod)
        elif not status.get("podIP"):
            number = next(_ADDRESSES)
            await self._publish(pod, {"phase": "Pending", "podIP": f"10.98.{number // 250 % 250}.{number % 250 + 1}"})
        elif status.get("phase") == "Pending" and not self._is_configured(pod):
            if "containerStatuses" not in status:
                await self._publish(pod, _build_waiting())
        elif status.get("phase") == "Pending" and self._looks_again(pod, status):
            await self._publish(pod, _build_status("Running"))
        elif status.get("phase") == "Running" and self._gang_runs(pod):
            labels = labels_of(pod)
            code = self._ends(int(labels[ATTEMPT_LABEL]), labels[ROLE_LABEL], int(labels[INDEX_LABEL]))
            if code is not None:
                await self._publish(pod, _build_status("Failed" if code else "Succeeded", code))

    async def _bind(self, pod: Manifest) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name_of(pod), "namespace": namespace_of(pod), "uid": uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": _NODE},
        }
        await self._api.create(PODS, binding, namespace=namespace_of(pod), name=name_of(pod), subresource="binding")

    async def _publish(self, pod: Manifest, status: Manifest) -> None:
        patch = {"metadata": {"uid": uid_of(pod), "resourceVersion": version_of(pod)}, "status": status}
        await self._api.patch(PODS, namespace_of(pod), name_of(pod), patch, subresource="status")

    def _is_configured(self, pod: Manifest) -> bool:
        sources = [source for each in pod["spec"]["containers"] for source in each.get("envFrom") or ()]
        names = [source["configMapRef"]["name"] for source in sources if "configMapRef" in source]
        return all(self._config_maps.get(Key(self._namespace, name)) is not None for name in names)

    def _looks_again(self, pod: Manifest, status: Manifest) -> bool:
        """Whether the kubelet looks for the ConfigMap: at first, and after a change of the pod."""
        return self._starts() and ("containerStatuses" not in status or WOKEN_ANNOTATION in annotations_of(pod))

    def _gang_runs(self, pod: Manifest) -> bool:
        gang = [each for each in self._there() if _gang_of(each) == _gang_of(pod)]
        phases = [(each.get("status") or {}).get("phase") for each in gang]
        return len(gang) == self._gang and "Pending" not in phases


def _gang_of(pod: Manifest) -> tuple[str, str]:
    return labels_of(pod)[JOB_LABEL], labels_of(pod)[ATTEMPT_LABEL]


def _build_waiting() -> Manifest:
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": "configmap not found"}}
    container = {"name": "paddle", "ready": False, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
    return {"containerStatuses": [container]}


def _build_status(phase: str, code: int = 0) -> Manifest:
    now = format_time(time.time())
    state: Manifest = {"running": {"startedAt": now}}
    if phase != "Running":
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": now}}
    container = {"name": "paddle", "ready": phase == "Running", "state": state, "image": "x", "imageID": "x",
                 "restartCount": 0}  # fmt: skip
    return {"phase": phase, "containerStatuses": [container]}


@asynccontextmanager
async def walking(
    api: Api, namespace: str, ends: Ends, gang: int, starts: Callable[[], bool] = lambda: True
) -> AsyncIterator[Kubelet]:
    """A running kubelet of this namespace."""
    await _join(api)
    kubelet = Kubelet(api, namespace, ends, gang, starts)
    task = asyncio.create_task(kubelet.run())
    try:
        yield kubelet
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _join(api: Api) -> None:
    """The node that pods are bound to. A cluster deletes pods of a node that does not exist."""
    try:
        await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": _NODE}})
    except AlreadyExists:
        return
