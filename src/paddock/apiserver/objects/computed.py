"""The kinds whose objects are computed when they are asked for and never stored: those of metrics.k8s.io.

Somebody measures what pods and nodes use (`node.usage`); `app` hands that in, as it does with logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import msgspec

from paddock.apiserver.schema.resource import Column, ServedResource
from paddock.apiserver.storage.records import Stored, storage_key
from paddock.kube.meta import NODES, PODS, Manifest, Resource, name_of, namespace_of, uid_of
from paddock.kube.usage import NODE_METRICS, POD_METRICS, Usage, build_node_metrics, build_pod_metrics

_USAGE: Manifest = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
_TIMES: Manifest = {"timestamp": {"type": "string", "format": "date-time"}, "window": {"type": "string"}}
_CONTAINER: Manifest = {"type": "object", "properties": {"name": {"type": "string"}, "usage": _USAGE}}
_NODE: Manifest = {"type": "object", "properties": {**_TIMES, "usage": _USAGE}}
_POD: Manifest = {
    "type": "object",
    "properties": {**_TIMES, "containers": {"type": "array", "items": _CONTAINER}},
}
_WINDOW = Column("Window", "string", ".window")


def _kind(resource: Resource, schema: Manifest, usage: str) -> ServedResource:
    columns = (Column("CPU", "string", f"{usage}.cpu"), Column("Memory", "string", f"{usage}.memory"), _WINDOW)
    return ServedResource(resource, "", schema=schema, columns=columns, custom=True, verbs=("get", "list"))


COMPUTED = (_kind(NODE_METRICS, _NODE, ".usage"), _kind(POD_METRICS, _POD, ".containers[*].usage"))
"""As metrics-server serves them: to get and to list, not to watch."""


class Usages(Protocol):
    """What is measured on this node."""

    def read_node(self, name: str) -> Usage | None:
        """None for another node, and before the first measurement."""
        ...

    def read_pod(self, uid: str) -> Mapping[str, Usage]:
        """By container; none of a pod that does not run, or has not been measured yet."""
        ...


Select = Callable[[str, str, str, tuple[str, str] | None], Iterator[Stored]]
"""(storage key, namespace, name, after this key) -> the stored objects, by key."""


class Computed:
    """Reads the pods and nodes of the store by `select`, and tells of those that are measured."""

    def __init__(self, usages: Usages, select: Select) -> None:
        self._usages, self._select = usages, select

    def select(self, key: str, namespace: str, name: str, after: tuple[str, str] | None) -> Iterator[Stored]:
        node = key == storage_key(NODE_METRICS)
        build, resource = (self._build_node, NODE_METRICS) if node else (self._build_pod, POD_METRICS)
        for stored in self._select(storage_key(NODES if node else PODS), namespace, name, after):
            if (built := build(stored.manifest())) is not None:
                body = msgspec.json.encode(built)
                yield Stored(key, namespace_of(built), name_of(built), "", stored.rv, resource.api_version, body)

    def _build_node(self, node: Manifest) -> Manifest | None:
        usage = self._usages.read_node(name_of(node))
        return build_node_metrics(node, usage) if usage else None

    def _build_pod(self, pod: Manifest) -> Manifest | None:
        found = self._usages.read_pod(uid_of(pod))
        return build_pod_metrics(pod, found) if found else None
