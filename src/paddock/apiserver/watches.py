"""Who hears of which change: subscriptions, and what a selector makes of one. The rim that sends is in `streams`.

An object that begins to match a selector is ADDED for its watcher and one that stops matching is DELETED, as in
Kubernetes. A bounded subscription that falls behind is cut: it is told nothing more, and its watcher asks again from
its last resourceVersion. In-process followers are not bounded: they live in this process and are trusted to read on.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from paddock.apiserver.records import Change
from paddock.kube.errors import BadRequest
from paddock.kube.meta import labels_of
from paddock.kube.selectors import match_fields, match_labels, read_fields

Predicate = Callable[[Mapping[str, Any]], bool]

_EVERYWHERE = frozenset({"metadata.name", "metadata.namespace"})
_SELECTABLE: Mapping[str, frozenset[str]] = {
    "/pods": frozenset(
        {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
         "status.phase", "status.podIP", "status.nominatedNodeName"}
    ),
    "/events": frozenset(
        {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
         "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
         "reportingComponent", "source", "type"}
    ),
    "/namespaces": frozenset({"status.phase"}),
    "/nodes": frozenset({"spec.unschedulable"}),
    "/secrets": frozenset({"type"}),
    "batch/jobs": frozenset({"status.successful"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource are meant. None as a predicate means that nothing was asked."""

    namespace: str = ""
    name: str = ""
    labels: Predicate | None = None
    fields: Predicate | None = None

    @property
    def narrow(self) -> bool:
        """Whether the bodies must be looked into."""
        return self.labels is not None or self.fields is not None

    def matches(self, manifest: Mapping[str, Any]) -> bool:
        return (self.labels is None or self.labels(labels_of(manifest))) and (
            self.fields is None or self.fields(manifest)
        )

    def judge(self, change: Change) -> str | None:
        """ADDED, MODIFIED or DELETED as this selection sees the change; None when it does not."""
        if (self.namespace and change.namespace != self.namespace) or (self.name and change.name != self.name):
            return None
        if not self.narrow:
            return change.type
        now = change.type != "DELETED" and self.matches(change.object)
        if not change.replaced:
            before = False
        else:
            # A state that compaction took away may have matched: a DELETED too many harms no client.
            before = change.previous_object is None or self.matches(change.previous_object)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None


def read_selection(resource: str, namespace: str = "", *, labels: str = "", fields: str = "") -> Selection:
    """Selectors as clients write them. `BadRequest` for text that is none and for fields nobody can select by."""
    try:
        terms = read_fields(fields)
        by_label = match_labels(labels) if labels.strip() else None
    except ValueError as error:
        raise BadRequest(str(error)) from None
    allowed = _EVERYWHERE | _SELECTABLE.get(resource, frozenset())
    for path, _, _ in terms:
        if path not in allowed:
            raise BadRequest(
                f"field label not supported: {path}; {resource.strip('/')} can be selected by"
                f" {', '.join(sorted(allowed))}"
            )
    name = next((value for path, equal, value in terms if path == "metadata.name" and equal), "")
    by_field = match_fields(fields) if terms and not (len(terms) == 1 and name) else None
    return Selection(namespace, name, by_label, by_field)


class Seen(NamedTuple):
    """A change as one watcher sees it."""

    type: str
    change: Change


class Capacity(NamedTuple):
    """How far a watcher may be behind before it is cut."""

    changes: int
    bytes: int


class Subscription:
    """What one watcher has yet to read."""

    def __init__(self, selection: Selection, capacity: Capacity | None) -> None:
        self.selection = selection
        self.lost = False
        """Fell behind or was closed: nothing more will come than what is pending."""
        self.on_close: Callable[[], None] | None = None
        """For a watcher that may be busy with something else than reading."""
        self._capacity = capacity
        self._bytes = 0
        self._pending: deque[Seen] = deque()
        self._waiter: asyncio.Future[None] | None = None

    @property
    def bounded(self) -> bool:
        return self._capacity is not None

    def push(self, seen: Seen) -> None:
        if self.lost:
            return
        self._bytes += seen.change.size
        self._pending.append(seen)
        if self._is_full():
            self._pending.clear()  # its watcher asks for them again
            self.close()
        else:
            self._wake()

    def _is_full(self) -> bool:
        limit = self._capacity
        return limit is not None and (len(self._pending) > limit.changes or self._bytes > limit.bytes)

    def close(self) -> None:
        """Nothing more comes after what is pending."""
        self.lost = True
        self._wake()
        if self.on_close is not None:
            self.on_close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self, patience: float | None = None) -> list[Seen]:
        """All that is pending, or what comes first; an empty list after `patience` seconds or once it is lost."""
        if not self._pending and not self.lost:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await asyncio.wait_for(self._waiter, patience)
            except TimeoutError:
                pass
            finally:
                self._waiter = None
        seen = list(self._pending)
        self._pending.clear()
        self._bytes = 0
        return seen


class Hub:
    """Passes the committed changes to the subscriptions of their resource."""

    def __init__(self) -> None:
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)

    def subscribe(self, resource: str, selection: Selection, capacity: Capacity | None = None) -> Subscription:
        subscription = Subscription(selection, capacity)
        self._subscriptions[resource].add(subscription)
        return subscription

    def leave(self, resource: str, subscription: Subscription) -> None:
        self._subscriptions[resource].discard(subscription)

    def publish(self, changes: list[Change]) -> None:
        for change in changes:
            for subscription in self._subscriptions.get(change.resource, ()):
                if (type := subscription.selection.judge(change)) is not None:
                    subscription.push(Seen(type, change))

    def end(self, resource: str) -> None:
        """Ends the watches from outside of one resource, which is served no more."""
        for subscription in self._subscriptions.get(resource, ()):
            if subscription.bounded:
                subscription.close()

    def close(self, *, bounded_only: bool = False) -> None:
        """Ends every watch, or only the bounded ones, which are those from outside. Their watchers see `lost`."""
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                if subscription.bounded or not bounded_only:
                    subscription.close()
