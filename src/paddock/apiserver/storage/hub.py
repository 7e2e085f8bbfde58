"""Distributes changes to watch subscriptions, and applies their selectors. `http.streams` sends the events.

An object that begins to match a selector is ADDED for its watcher and one that stops matching is DELETED, as in
Kubernetes. A bounded subscription that falls behind is closed: it gets no more events, and its watcher reconnects from
its last resourceVersion. Subscriptions of in-process followers are unbounded: these are trusted to keep reading.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from paddock.apiserver.storage.event_forms import NEW_EVENTS, translate_selector
from paddock.apiserver.storage.records import Change, storage_key
from paddock.kube.errors import BadRequest
from paddock.kube.meta import Resource, labels_of
from paddock.kube.selectors import match_fields, match_labels, read_fields

Predicate = Callable[[Mapping[str, Any]], bool]

_EVERYWHERE = frozenset({"metadata.name", "metadata.namespace"})
# Kubernetes supports these fields per kind, and answers 400 to any other one.
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
_PLACES = {("/events", "source"): "source.component"}
"""Where the fields stand that have another name in selectors."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected objects of a resource. A predicate of None selects all."""

    namespace: str = ""
    name: str = ""
    labels: Predicate | None = None
    fields: Predicate | None = None

    @property
    def narrow(self) -> bool:
        """Whether matching needs the objects' bodies, and not only their keys."""
        return self.labels is not None or self.fields is not None

    def matches(self, manifest: Mapping[str, Any]) -> bool:
        return (self.labels is None or self.labels(labels_of(manifest))) and (
            self.fields is None or self.fields(manifest)
        )

    def event_type(self, change: Change) -> str | None:
        """The watch event of a change for this selection: ADDED, MODIFIED, DELETED, or None for no event."""
        if (self.namespace and change.namespace != self.namespace) or (self.name and change.name != self.name):
            return None
        if not self.narrow:
            return change.type
        now = change.type != "DELETED" and self.matches(change.object)
        if not change.replaced:
            before = False
        else:
            # A previous state lost to compaction may have matched: an extra DELETED harms no client.
            before = change.previous_object is None or self.matches(change.previous_object)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None


def select(resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Selection:
    """`read_selection` in the words of a version of the resource."""
    if resource == NEW_EVENTS:
        fields = translate_selector(fields)
    return read_selection(storage_key(resource), namespace, labels=labels, fields=fields)


def read_selection(resource: str, namespace: str = "", *, labels: str = "", fields: str = "") -> Selection:
    """Parses the selectors of a request. `BadRequest` for invalid selectors and fields that are not selectable."""
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
    # A selection by name reads one row by its key instead of all bodies.
    name = next((value for path, equal, value in terms if path == "metadata.name" and equal), "")
    fields = ",".join(
        f"{_PLACES.get((resource, path), path)}{'=' if equal else '!='}{value}" for path, equal, value in terms
    )
    by_field = match_fields(fields) if terms and not (len(terms) == 1 and name) else None
    return Selection(namespace, name, by_label, by_field)


class WatchEvent(NamedTuple):
    """A change with the event type that one watcher gets."""

    type: str
    change: Change


class Capacity(NamedTuple):
    """How far a watcher may fall behind before its subscription is closed."""

    changes: int
    bytes: int


class Subscription:
    """The queue of one watcher's events."""

    def __init__(self, selection: Selection, capacity: Capacity | None) -> None:
        self.selection = selection
        self.lost = False
        """Fell behind or was closed: no event follows the pending ones."""
        self.on_close: Callable[[], None] | None = None
        """Called on close, for a watcher that is writing to its client and not waiting in `read`."""
        self._capacity = capacity
        self._bytes = 0
        self._pending: deque[WatchEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None

    @property
    def bounded(self) -> bool:
        return self._capacity is not None

    def push(self, event: WatchEvent) -> None:
        if self.lost:
            return
        self._bytes += event.change.size
        self._pending.append(event)
        if self._is_over_capacity():
            # The watcher reconnects and reads these changes from the changelog.
            self._pending.clear()
            self.close()
        else:
            self._wake()

    def _is_over_capacity(self) -> bool:
        limit = self._capacity
        return limit is not None and (len(self._pending) > limit.changes or self._bytes > limit.bytes)

    def close(self) -> None:
        """Accepts no more events; the pending ones can still be read."""
        self.lost = True
        self._wake()
        if self.on_close is not None:
            self.on_close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self, timeout_seconds: float | None = None) -> list[WatchEvent]:
        """Returns the pending events, or waits for the first ones; empty after `timeout_seconds` or once lost."""
        if not self._pending and not self.lost:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await asyncio.wait_for(self._waiter, timeout_seconds)
            except TimeoutError:
                pass
            finally:
                self._waiter = None
        events = list(self._pending)
        self._pending.clear()
        self._bytes = 0
        return events


class Hub:
    """Publishes committed changes to the subscriptions of their resource."""

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
                if (type := subscription.selection.event_type(change)) is not None:
                    subscription.push(WatchEvent(type, change))

    def end(self, resource: str) -> None:
        """Ends the external watches of a resource that is no longer served."""
        for subscription in self._subscriptions.get(resource, ()):
            if subscription.bounded:
                subscription.close()

    def close(self, *, bounded_only: bool = False) -> None:
        """Closes all subscriptions, or only the bounded ones, which belong to external clients."""
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                if subscription.bounded or not bounded_only:
                    subscription.close()
