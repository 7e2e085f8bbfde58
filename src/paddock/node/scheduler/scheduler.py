"""The scheduler: watches pods, nodes, PodGroups and claims, binds pods, and writes why the others wait.

It also deletes pods that are being deleted and whose node does not exist, as only their node could confirm their end.

Every decision is made in `paddock.node.scheduler.placement`. Rules of acting:
- Changes that arrive together are planned together, and only a change that a plan depends on starts one.
- Planning has a fifth of the process at most: a plan looks at all pods, and in a burst each new pod would start one,
  while those who create them wait for the same event loop.
- Binds are sent at once. Conditions are written when no change has come for `_QUIET` seconds: the pods of a gang come
  one by one, and most messages in between are stale when they are read. Only changed conditions are written.
- Time alone causes no write. After a failed write the next plan, soon after, tries again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from paddock.controllers.events import EventSink, build_event
from paddock.controllers.informer import Informer
from paddock.controllers.mirror import Change
from paddock.controllers.reflector import follow_definitions
from paddock.controllers.tasks import CoalescedTask
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.gpu_shares import GPUS_ANNOTATION, write_indices
from paddock.kube.meta import (
    CLAIMS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    VOLCANO_POD_GROUPS,
    Key,
    Manifest,
    Resource,
)
from paddock.kube.priority_classes import PATIENT, read_class
from paddock.kube.times import Moment, format_time
from paddock.node.scheduler.nodes import find_orphans, read_node
from paddock.node.scheduler.placement import PRIORITIES, Bind, Decision, Evict, Priorities, Wait, plan_requests
from paddock.node.scheduler.pod_groups import Group, build_status, read_group
from paddock.node.scheduler.pod_request import GroupKey, Request, read_request
from paddock.node.volumes.storage import read_claim
from paddock.words.phrases import phrase

COMPONENT = "paddock-scheduler"

_QUIET = 0.1  # seconds without a new plan until conditions are written
_LATEST = 1.0  # seconds until conditions are written even if new plans keep coming
_EVENT_DELAY = 1.0  # seconds after a bind until its event is written, together with others
_RETRY = 2.0  # seconds from a failed write to the next plan
_REST = 4.0  # times a plan's own CPU time until the next one
_LONGEST_REST = 1.0  # seconds
_OVERLOADED = 429  # this code and above: the request itself is not at fault

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Scheduler:
    """Binds pods of every schedulerName to nodes. One per cluster."""

    def __init__(self, api: Api, *, clock: Callable[[], Moment] = time.time) -> None:
        self._api = api
        self._clock = clock
        self._changed = asyncio.Event()
        self._pods = self._inform(PODS, self._read_pod)
        self._nodes = self._inform(NODES, read_node)
        self._groups = [self._inform(each, read_group, optional=True) for each in (POD_GROUPS, VOLCANO_POD_GROUPS)]
        self._classes = self._inform(PRIORITY_CLASSES, read_class, optional=True)
        self._claims = self._inform(CLAIMS, read_claim)
        self._informers: list[Informer[Any]] = [self._pods, self._nodes, *self._groups, self._classes, self._claims]
        self._planned = asyncio.Event()
        self._waits: list[Wait] = []
        self._bound: list[Manifest] = []  # events of bound pods, not written yet
        self._events = CoalescedTask(_EVENT_DELAY, self._publish_bound)
        self._sink = EventSink(api, counts=False)
        # Node and GPUs by UID of bound pods whose watch event has not arrived yet.
        self._assumed: dict[str, tuple[str, tuple[int, ...]]] = {}
        # Status by PodGroup UID, as sent: a CRD may prune fields, so the stored status can differ for ever.
        self._sent: dict[str, Manifest] = {}

    async def run(self) -> None:
        """Runs until cancelled. Raises the server's error if a retry cannot help (`Forbidden`)."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for informer in self._informers:
                    tasks.create_task(informer.run())
                tasks.create_task(follow_definitions(self._api, self._informers))
                tasks.create_task(self._schedule())
                tasks.create_task(self._report())
        finally:
            self._events.close()

    # Watching

    def _inform(self, resource: Resource, read: Callable[[Manifest], _T], *, optional: bool = False) -> Informer[_T]:
        def note(_: Change[_T]) -> None:
            self._changed.set()

        return Informer(self._api, resource, read, note, optional=optional, on_synced=self._changed.set)

    def _read_pod(self, manifest: Manifest) -> Request:
        """The request of the pod, with its assumed node if the watch event of its bind has not arrived yet."""
        request = read_request(manifest)
        if request.node or request.finished:
            self._assumed.pop(request.uid, None)
            return request
        node, gpus = self._assumed.get(request.uid, ("", ()))
        return replace(request, node=node, gpus=gpus)

    # Placing

    async def _schedule(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            # Without all pods and nodes the capacity is unknown, and a node would be over-committed.
            if all(informer.synced.is_set() for informer in self._informers):
                requests, nodes = self._pods.mirror.objects.values(), self._nodes.mirror.objects.values()
                begun = time.thread_time()
                (binds, evicts), orphans = self._plan(), find_orphans(requests, nodes)
                took = time.thread_time() - begun
                await asyncio.gather(*map(self._bind, binds), *map(self._evict, evicts), *map(self._remove, orphans))
                self._planned.set()
                await asyncio.sleep(choose_rest(took))

    def _plan(self) -> tuple[list[Bind], list[Evict]]:
        """What to send now; the waits are kept for `_report`."""
        requests = self._pods.mirror.objects.values()
        self._waits = []
        if not any(request.pending for request in requests):
            return [], []
        classes = self._classes.mirror.objects.values()
        priorities = Priorities(
            {**PRIORITIES, **{each.name: each.value for each in classes}},
            frozenset(each.name for each in classes if each.policy == PATIENT),
        )
        nodes, groups = self._nodes.mirror.objects.values(), self._known_groups().values()
        decisions = plan_requests(requests, nodes, groups, self._clock(), priorities, self._claims.mirror.objects)
        self._waits = [decision for decision in decisions if isinstance(decision, Wait)]
        binds = [decision for decision in decisions if isinstance(decision, Bind)]
        return binds, [decision for decision in decisions if isinstance(decision, Evict)]

    def _known_groups(self) -> dict[GroupKey, Group]:
        return {group.key: group for informer in self._groups for group in informer.mirror.objects.values()}

    async def _bind(self, bind: Bind) -> None:
        # As in Kubernetes, a pod takes over the annotations of its Binding.
        told = {"annotations": {GPUS_ANNOTATION: write_indices(bind.gpus)}} if bind.gpus else {}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid, **told},
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
        }
        call = self._api.create(PODS, binding, namespace=bind.namespace, name=bind.name, subresource="binding")
        if await self._write(f"binding pod {bind.namespace}/{bind.name}", call):
            self._assume(bind, node=bind.node, gpus=bind.gpus)
            self._bound.append(build_decision_event(bind, self._clock()))
            self._events.ask()

    async def _evict(self, evict: Evict) -> None:
        """As kube-scheduler: first the condition that says why, by which an operator knows that it is nobody's
        fault."""
        key, pod = Key(evict.namespace, evict.name), f"{evict.namespace}/{evict.name}"
        message = f"{COMPONENT}: preempting to accommodate {evict.by}, of a higher priority"
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        told = {**condition, "message": message, "lastTransitionTime": format_time(self._clock())}
        patch = {"metadata": {"uid": evict.uid}, "status": {"conditions": [told]}}
        said = self._api.patch(PODS, *key, patch, subresource="status", kind="strategic")
        if not await self._write(f"telling pod {pod} why it ends", said):
            return
        if await self._write(f"ending pod {pod}", self._api.delete(PODS, *key, uid=evict.uid)):
            request = self._pods.mirror.objects.get(key)
            if request is not None and request.uid == evict.uid:
                self._pods.mirror.assume(key, replace(request, deleting=True))
            await self._sink.write(build_decision_event(evict, self._clock()))

    async def _publish_bound(self) -> None:
        bound, self._bound = self._bound, []
        await self._sink.write_all(bound)

    async def _remove(self, orphan: Request) -> None:
        """As Kubernetes' pod garbage collector: reads the node live first, as the cache may be stale."""
        try:
            await self._api.get(NODES, "", orphan.node)
        except NotFound:
            call = self._api.delete(PODS, *orphan.key, uid=orphan.uid, grace=0)
            await self._write(f"removing pod {orphan.key} of node {orphan.node}, which is not there", call)
        except ApiError as error:
            _log.warning("whether node %s is there cannot be told: %s", orphan.node, error)

    def _assume(self, decision: Bind | Wait, **changes: Any) -> None:
        """Applies the result of our own write to the cache before its watch event arrives."""
        key = Key(decision.namespace, decision.name)
        request = self._pods.mirror.objects.get(key)
        if request is not None and request.uid == decision.uid and not request.node:
            self._pods.mirror.assume(key, replace(request, **changes))
            if "node" in changes:
                self._assumed[request.uid] = changes["node"], changes["gpus"]

    # Reporting

    async def _report(self) -> None:
        while True:
            await self._planned.wait()
            await self._wait_until_quiet()
            waits = [wait for wait in self._waits if self._is_unreported(wait)]
            statuses = self._build_group_statuses()
            await asyncio.gather(
                *(self._write_wait(wait) for wait in waits),
                *(self._write_group(resource, group, status) for resource, group, status in statuses),
            )

    async def _wait_until_quiet(self) -> None:
        clock = asyncio.get_running_loop().time
        latest = clock() + _LATEST
        while True:
            self._planned.clear()
            if clock() >= latest or not await _is_set(self._planned, within=_QUIET):
                return

    def _is_unreported(self, wait: Wait) -> bool:
        request = self._pods.mirror.objects.get(Key(wait.namespace, wait.name))
        return (
            request is not None
            and request.uid == wait.uid
            and request.pending
            and request.reported != (wait.reason, wait.message)
        )

    async def _write_wait(self, wait: Wait) -> None:
        """Writes the pod's condition, and an Event for `kubectl describe`."""
        now = format_time(self._clock())
        condition = {"type": "PodScheduled", "status": "False", "reason": wait.reason, "message": wait.message}
        patch = {
            "metadata": {"uid": wait.uid},
            "status": {"conditions": [{**condition, "lastProbeTime": None, "lastTransitionTime": now}]},
        }
        pod = f"{wait.namespace}/{wait.name}"
        call = self._api.patch(PODS, wait.namespace, wait.name, patch, subresource="status", kind="strategic")
        if await self._write(f"telling pod {pod} why it waits", call):
            self._assume(wait, reported=(wait.reason, wait.message))
            await self._sink.write(build_decision_event(wait, self._clock()))

    def _build_group_statuses(self) -> list[tuple[Resource, Group, Manifest]]:
        """Statuses that differ both from the stored one and from the one sent before."""
        known = self._known_groups()
        members: dict[GroupKey, list[Request]] = defaultdict(list)
        for request in self._pods.mirror.objects.values():
            for key in request.groups:
                members[key].append(request)
        uids = {group.uid for group in known.values()}
        self._sent = {uid: status for uid, status in self._sent.items() if uid in uids}
        wanted = [
            (informer.resource, group, build_status(group, members[group.key]))
            for informer in self._groups
            for group in informer.mirror.objects.values()
        ]
        return [item for item in wanted if item[2] not in (item[1].status, self._sent.get(item[1].uid))]

    async def _write_group(self, resource: Resource, group: Group, status: Manifest) -> None:
        namespace, name = group.key[1]
        patch = {"metadata": {"uid": group.uid}, "status": status}

        async def write() -> None:
            try:
                await self._api.patch(resource, namespace, name, patch, subresource="status")
            except NotFound:  # the CRD has no status subresource, or the group was deleted
                await self._api.patch(resource, namespace, name, patch)

        if await self._write(f"the status of PodGroup {group.key[1]}", write()):
            self._sent[group.uid] = status

    async def _write(self, what: str, call: Awaitable[object]) -> bool:
        """Whether the write succeeded. Schedules a plan if the server is at fault."""
        try:
            await call
        except ApiError as error:
            _log.log(logging.WARNING if error.code >= _OVERLOADED else logging.DEBUG, "%s: %s", what, error.message)
            # A conflict needs no retry: the watch event of the newer object starts the next plan.
            if error.code >= _OVERLOADED:
                asyncio.get_running_loop().call_later(_RETRY, self._changed.set)
            return False
        return True


def choose_rest(took: float) -> float:
    """Seconds that belong to others after a plan that took so many of CPU."""
    return min(_REST * took, _LONGEST_REST)


def build_decision_event(decision: Decision, now: Moment) -> Manifest:
    """A core/v1 Event about the pod, with kube-scheduler's reason and message."""
    metadata = {"name": decision.name, "namespace": decision.namespace, "uid": decision.uid}
    about = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    if isinstance(decision, Wait):
        return build_event(about, "FailedScheduling", decision.message, now, component=COMPONENT, type="Warning")
    if isinstance(decision, Evict):
        said = phrase("Preempted by {who}, which has a higher priority", who=decision.by)
        return build_event(about, "Preempted", str(said), now, component=COMPONENT)
    said = phrase(
        "Successfully assigned {pod} to {node}", pod=f"{decision.namespace}/{decision.name}", node=decision.node
    )
    return build_event(about, "Scheduled", str(said), now, component=COMPONENT)


async def _is_set(event: asyncio.Event, *, within: float) -> bool:
    """Whether the event is set within so many seconds."""
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return False
    return True
