"""The interface to a Kubernetes API.

`client.client.Client` implements it over HTTPS for any cluster, `apiserver.objects.in_process.LocalApi` in process for
the embedded cluster. Operator, node and command line only use the interface, so they work with both.

An implementation has two methods: `send`, which answers a call (`kube.calls`), and `follow`. The verbs use `send`.

Errors of the API and of the transport are `kube.errors.ApiError`s: a server that cannot be reached is `Unavailable`.
Returned objects belong to the caller, who may change them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from paddock.kube.calls import Call, Create, Delete, Get, List, Listing, Patch, PatchKind, Propagation, Replace, T
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of


class Event(NamedTuple):
    """One event of `follow`.

    ADDED, MODIFIED and DELETED have the object in its current or last state. SYNCED has an empty object: all objects
    that existed at the start have been delivered. `follow` reconnects by itself: an object that was deleted meanwhile
    comes as DELETED, with kind, key and UID only; a changed one comes as MODIFIED.
    """

    type: Literal["ADDED", "MODIFIED", "DELETED", "SYNCED"]
    object: Manifest


class Api(ABC):
    """A Kubernetes API. An empty `namespace` means all namespaces, or a cluster-scoped resource; in `create` and
    `replace`, the namespace of the manifest. `kube.calls` describes the other arguments."""

    @abstractmethod
    async def send(self, call: Call[T]) -> T:
        """Sends one call and returns its response."""

    @abstractmethod
    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        """Lists and watches: all existing objects, then SYNCED, then every change, without end; it survives broken
        connections and restarts of the server. It only raises if a retry cannot help: `Forbidden`, `Unauthorized`, or
        at the first try `NotFound` (a kind that is not served)."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        return await self.send(Get(resource, namespace, name))

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        return await self.send(List(resource, namespace, labels=labels, fields=fields))

    async def create(
        self,
        resource: Resource,
        manifest: Mapping[str, Any],
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        strict: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        key = (namespace or namespace_of(manifest), name or name_of(manifest))
        return await self.send(Create(resource, *key, subresource, manifest=manifest, strict=strict, dry_run=dry_run))

    async def replace(
        self,
        resource: Resource,
        manifest: Mapping[str, Any],
        *,
        namespace: str = "",
        subresource: str = "",
        strict: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        key = (namespace or namespace_of(manifest), name_of(manifest))
        return await self.send(Replace(resource, *key, subresource, manifest=manifest, strict=strict, dry_run=dry_run))

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        kind: PatchKind = "merge",
        strict: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        place = (resource, namespace, name, subresource)
        return await self.send(Patch(*place, patch=patch, kind=kind, strict=strict, dry_run=dry_run))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        await self.send(Delete(resource, namespace, name, uid=uid, grace=grace, propagation=propagation))


class PodApi(Api):
    """An API that also gives what pods print, and documents that are no objects: a server (`client.client.Client`), or
    the copy of one in a file (`app.bundles.client`)."""

    @abstractmethod
    async def fetch(self, path: str, query: Mapping[str, str] = ..., *, accept: str = ...) -> Any:
        """A JSON document of the server: `/version`, a discovery document, a list as a Table."""

    @abstractmethod
    def stream_log(
        self,
        namespace: str,
        pod: str,
        *,
        container: str = "",
        follow: bool = False,
        tail: int | None = None,
        since: float | None = None,
        since_time: str = "",
        timestamps: bool = False,
        previous: bool = False,
        leave_out: Callable[[int], None] = ...,
    ) -> AsyncGenerator[bytes, None]:
        """Chunks of a container's log; with `follow`, until the container ends. `since`: seconds before now;
        `since_time`: an API's time, of whole seconds. `leave_out` is told how many bytes are missing before the next
        chunk: never by a server, which has the whole log."""


async def is_served(api: PodApi, resource: Resource) -> bool:
    """Whether the server has this kind, by its discovery, which every authenticated user may read (system:discovery).
    Raises `ApiError`."""
    try:
        found = await api.fetch(f"/apis/{resource.api_version}")
    except NotFound:
        return False
    return any(each.get("name") == resource.plural for each in found.get("resources") or ())
