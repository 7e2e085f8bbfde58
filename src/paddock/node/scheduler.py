"""The scheduler: follows pods, nodes, PodGroups, claims; binds what `placement` says; tells the others why they wait.

Deleted pods whose node is not there are removed here too: their node is what would have to say that they have ended.

Thin: every decision is `paddock.node.placement`'s. The rules here are about acting:
- A turn of the loop's changes are planned for together, and only a change that matters to a plan starts one.
- Binds are sent at once. Sentences wait until things have been quiet for a moment, as a gang's pods come one by one and
  most of what could be said meanwhile is stale when it is read; and only those that changed are written.
- Nothing is written by the clock. A write that fails is tried again by the next plan, which follows soon.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from paddock.kube.api import Api, Event
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import (
    CLAIMS,
    CRDS,
    NODES,
    POD_GROUPS,
    PODS,
    VOLCANO_POD_GROUPS,
    Key,
    Manifest,
    Resource,
    key_of,
    name_of,
)
from paddock.kube.times import Moment, format_time
from paddock.node.nodes import find_orphans, read_node
from paddock.node.notices import build_notice, publish, publish_all
from paddock.node.placement import PRIORITIES, Bind, Wait, plan_requests
from paddock.node.pod_groups import Group, build_status, read_group
from paddock.node.requests import GroupKey, Request, read_request
from paddock.node.storage import read_claim
from paddock.node.turns import Gathered

PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
COMPONENT = "paddock-scheduler"

_QUIET = 0.1  # seconds without a change, after which sentences are written
_LATEST = 1.0  # seconds after which they are written however busy it is
_LATER = 1.0  # seconds after a bind in which its event is written, with those of others
_RETRY = 2.0  # seconds until a plan after a write that failed
_OVERLOADED = 429  # this code and above: not our request's fault
_UNSERVED = 60.0  # seconds until a kind that was not served is asked for again, should no CRD change before

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(slots=True)
class _Cache(Generic[_T]):
    """What is there of one kind, as `read` understands it. `settled` once all of it is known, or that it is not served.
    `optional` kinds may not be served; `installed` is set when a CRD has changed, and the kind may be served now."""

    resource: Resource
    read: Callable[[Manifest], _T]
    optional: bool = False
    items: dict[Key, _T] = field(default_factory=dict)
    settled: bool = False
    installed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: Event) -> bool:
        """Whether the event makes a difference to a plan."""
        if event.type == "SYNCED":
            changed, self.settled = not self.settled, True
            return changed
        key = key_of(event.object)
        before = self.items.pop(key, None)
        if event.type == "DELETED":
            return before is not None
        try:
            found = self.items[key] = self.read(event.object)
        except Exception as error:  # one object that nobody understands must not stop the others
            _log.warning("%s %s is left out of scheduling: %s", self.resource.kind, key, error)
            return before is not None
        return found != before


def _read_priority_class(manifest: Manifest) -> tuple[str, int]:
    return name_of(manifest), int(manifest["value"])


class Scheduler:
    """Binds pods of every scheduler name to nodes. One for a cluster."""

    def __init__(self, api: Api, *, clock: Callable[[], Moment] = time.time) -> None:
        self._api = api
        self._clock = clock
        self._pods = _Cache(PODS, self._read_pod)
        self._nodes = _Cache(NODES, read_node)
        self._groups = [_Cache(resource, read_group, optional=True) for resource in (POD_GROUPS, VOLCANO_POD_GROUPS)]
        self._classes = _Cache(PRIORITY_CLASSES, _read_priority_class, optional=True)
        self._claims = _Cache(CLAIMS, read_claim)
        self._caches: list[_Cache[Any]] = [self._pods, self._nodes, *self._groups, self._classes, self._claims]
        self._changed = asyncio.Event()
        self._planned = asyncio.Event()
        self._waits: list[Wait] = []
        self._bound: list[Manifest] = []  # the events of pods that were bound, which nobody waits for
        self._events = Gathered(_LATER, self._publish_bound)
        self._assumed: dict[str, str] = {}  # node by UID of pods that were bound but are not seen so yet
        self._sent: dict[str, Manifest] = {}  # status by a PodGroup's UID, as sent: a CRD may prune what it is not told

    async def run(self) -> None:
        """Until cancelled. What nobody can mend ends it, with the server's error (`Forbidden`)."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for cache in self._caches:
                    tasks.create_task(self._follow(cache))
                tasks.create_task(self._follow_crds())
                tasks.create_task(self._place())
                tasks.create_task(self._tell())
        finally:
            self._events.close()

    # What is there

    async def _follow(self, cache: _Cache[Any]) -> None:
        while True:
            cache.installed.clear()
            try:
                async for event in self._api.follow(cache.resource):
                    if cache.take(event):
                        self._changed.set()
                return
            except NotFound:
                if not cache.optional:
                    raise
            cache.items.clear()
            cache.settled = True
            self._changed.set()
            await _is_set(cache.installed, within=_UNSERVED)

    async def _follow_crds(self) -> None:
        """So that PodGroups are found as soon as somebody installs their CRD."""
        try:
            async for _ in self._api.follow(CRDS):
                for cache in self._caches:
                    cache.installed.set()
        except (NotFound, Forbidden) as error:
            _log.info("a PodGroup CRD that is installed later is found within a minute, as CRDs are hidden: %s", error)

    def _read_pod(self, manifest: Manifest) -> Request:
        """The pod's request, with the node it was given where the news of that is still under way."""
        request = read_request(manifest)
        if request.node or request.finished:
            self._assumed.pop(request.uid, None)
            return request
        return replace(request, node=self._assumed.get(request.uid, ""))

    # Placing

    async def _place(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            if all(cache.settled for cache in self._caches):
                binds, orphans = self._plan(), find_orphans(self._pods.items.values(), self._nodes.items.values())
                await asyncio.gather(*map(self._bind, binds), *map(self._remove, orphans))
                self._planned.set()

    def _plan(self) -> list[Bind]:
        """What to bind now; the waits are kept for `_tell`."""
        requests = self._pods.items.values()
        self._waits = []
        if not any(request.pending for request in requests):
            return []
        priorities = {**PRIORITIES, **dict(self._classes.items.values())}
        nodes, groups = self._nodes.items.values(), self._known_groups().values()
        decisions = plan_requests(requests, nodes, groups, self._clock(), priorities, self._claims.items)
        self._waits = [decision for decision in decisions if isinstance(decision, Wait)]
        return [decision for decision in decisions if isinstance(decision, Bind)]

    def _known_groups(self) -> dict[GroupKey, Group]:
        return {group.key: group for cache in self._groups for group in cache.items.values()}

    async def _bind(self, bind: Bind) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
        }
        call = self._api.create(PODS, binding, namespace=bind.namespace, name=bind.name, subresource="binding")
        if await self._write(f"binding pod {bind.namespace}/{bind.name}", call):
            self._update(bind, node=bind.node)
            self._bound.append(build_event(bind, self._clock()))
            self._events.ask()

    async def _publish_bound(self) -> None:
        bound, self._bound = self._bound, []
        await publish_all(self._api, bound)

    async def _remove(self, orphan: Request) -> None:
        """As Kubernetes' garbage collector of pods does; a live look at the node first, as a cache may be behind."""
        try:
            await self._api.get(NODES, "", orphan.node)
        except NotFound:
            call = self._api.delete(PODS, *orphan.key, uid=orphan.uid, grace=0)
            await self._write(f"removing pod {orphan.key} of node {orphan.node}, which is not there", call)
        except ApiError as error:
            _log.warning("whether node %s is there cannot be told: %s", orphan.node, error)

    def _update(self, decision: Bind | Wait, **changes: Any) -> None:
        """What we know to be so now, before the server's news of it has come round."""
        key = Key(decision.namespace, decision.name)
        request = self._pods.items.get(key)
        if request is not None and request.uid == decision.uid and not request.node:
            self._pods.items[key] = replace(request, **changes)
            if "node" in changes:
                self._assumed[request.uid] = changes["node"]

    # Telling

    async def _tell(self) -> None:
        while True:
            await self._planned.wait()
            await self._quiet()
            waits = [wait for wait in self._waits if self._is_news(wait)]
            statuses = self._build_group_statuses()
            await asyncio.gather(
                *(self._write_wait(wait) for wait in waits),
                *(self._write_group(resource, group, status) for resource, group, status in statuses),
            )

    async def _quiet(self) -> None:
        clock = asyncio.get_running_loop().time
        latest = clock() + _LATEST
        while True:
            self._planned.clear()
            if clock() >= latest or not await _is_set(self._planned, within=_QUIET):
                return

    def _is_news(self, wait: Wait) -> bool:
        request = self._pods.items.get(Key(wait.namespace, wait.name))
        return (
            request is not None
            and request.uid == wait.uid
            and request.pending
            and request.told != (wait.reason, wait.message)
        )

    async def _write_wait(self, wait: Wait) -> None:
        """The pod's condition, and an Event beside it for `kubectl describe`."""
        now = format_time(self._clock())
        condition = {"type": "PodScheduled", "status": "False", "reason": wait.reason, "message": wait.message}
        patch = {
            "metadata": {"uid": wait.uid},
            "status": {"conditions": [{**condition, "lastProbeTime": None, "lastTransitionTime": now}]},
        }
        pod = f"{wait.namespace}/{wait.name}"
        call = self._api.patch(PODS, wait.namespace, wait.name, patch, subresource="status", kind="strategic")
        if await self._write(f"telling pod {pod} why it waits", call):
            self._update(wait, told=(wait.reason, wait.message))
            await publish(self._api, build_event(wait, self._clock()))

    def _build_group_statuses(self) -> list[tuple[Resource, Group, Manifest]]:
        """Statuses that differ from what is there and from what was sent before."""
        known = self._known_groups()
        members: dict[GroupKey, list[Request]] = defaultdict(list)
        for request in self._pods.items.values():
            for key in request.groups:
                members[key].append(request)
        uids = {group.uid for group in known.values()}
        self._sent = {uid: status for uid, status in self._sent.items() if uid in uids}
        wanted = [
            (cache.resource, group, build_status(group, members[group.key]))
            for cache in self._groups
            for group in cache.items.values()
        ]
        return [item for item in wanted if item[2] not in (item[1].status, self._sent.get(item[1].uid))]

    async def _write_group(self, resource: Resource, group: Group, status: Manifest) -> None:
        namespace, name = group.key[1]
        patch = {"metadata": {"uid": group.uid}, "status": status}

        async def write() -> None:
            try:
                await self._api.patch(resource, namespace, name, patch, subresource="status")
            except NotFound:  # a CRD without the status subresource, or a group that has gone
                await self._api.patch(resource, namespace, name, patch)

        if await self._write(f"the status of PodGroup {group.key[1]}", write()):
            self._sent[group.uid] = status

    async def _write(self, what: str, call: Awaitable[object]) -> bool:
        """Whether it went well. An object that has moved on brings its own change, and so its own next plan; where the
        server is at fault, a plan is made soon."""
        try:
            await call
        except ApiError as error:
            _log.log(logging.WARNING if error.code >= _OVERLOADED else logging.DEBUG, "%s: %s", what, error.message)
            if error.code >= _OVERLOADED:
                asyncio.get_running_loop().call_later(_RETRY, self._changed.set)
            return False
        return True


def build_event(decision: Bind | Wait, now: Moment) -> Manifest:
    """A core/v1 Event about the pod, in kube-scheduler's words."""
    metadata = {"name": decision.name, "namespace": decision.namespace, "uid": decision.uid}
    about = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    if isinstance(decision, Wait):
        return build_notice(about, "FailedScheduling", decision.message, now, component=COMPONENT, kind="Warning")
    message = f"Successfully assigned {decision.namespace}/{decision.name} to {decision.node}"
    return build_notice(about, "Scheduled", message, now, component=COMPONENT)


async def _is_set(event: asyncio.Event, *, within: float) -> bool:
    """Whether the event comes within so many seconds."""
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return False
    return True
