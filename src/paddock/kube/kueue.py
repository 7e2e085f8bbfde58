"""Kueue's kinds as clusters serve them: the one place that knows their versions.

Kueue of 2026-08 (0.20) serves v1beta2 and v1beta1, and its changelog announces the end of v1beta1; before 0.15 there is
v1beta1 alone. What is read here has the same fields in both. So a version is asked for, the newest first, and the next
where it is not served. Sources: kueue, apis/kueue, apis/visibility.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.api import Api
from paddock.kube.calls import Get
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest, Resource

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""The newest first."""

Versions = tuple[Resource, ...]
"""One kind in each of them."""


def _list_versions(kind: str, plural: str, *, namespaced: bool = True, group: str = GROUP) -> Versions:
    return tuple(Resource(group, version, kind, plural, namespaced) for version in VERSIONS)


WORKLOADS = _list_versions("Workload", "workloads")
LOCAL_QUEUES = _list_versions("LocalQueue", "localqueues")
WORKLOAD_PRIORITIES = _list_versions("WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False)
_VISIBLE = _list_versions("LocalQueue", "localqueues", group=f"visibility.{GROUP}")
"""Of Kueue's own API server, which is no part of every installation. A LocalQueue there is only the parent of its
subresource."""


def find_others(resource: Resource) -> Versions:
    """The versions to ask for where this one is not served; none for a kind of somebody else's."""
    if resource.group != GROUP or resource.version not in VERSIONS:
        return ()
    older = VERSIONS[VERSIONS.index(resource.version) + 1 :]
    return tuple(Resource(GROUP, each, resource.kind, resource.plural, resource.namespaced) for each in older)


async def list_served(api: Api, versions: Versions, namespace: str = "") -> list[Manifest] | None:
    """The objects of a kind; None where no version of it is served. Raises `ApiError`, `Forbidden` among them."""
    for resource in versions:
        try:
            return (await api.list(resource, namespace)).items
        except NotFound:
            continue
    return None


async def get_pending(api: Api, namespace: str, queue: str) -> list[Any] | None:
    """The Workloads that wait in a LocalQueue, the first 1000 (Kueue's own bound), each with `positionInLocalQueue`,
    which begins at 0; None where this is not served. Raises `ApiError`."""
    for resource in _VISIBLE:
        try:
            found = await api.send(Get(resource, namespace, queue, "pendingworkloads"))
        except NotFound:
            continue
        items = found.get("items")
        return items if isinstance(items, list) else []
    return None
