"""What every part of Paddock may ask of a Kubernetes API: one protocol, whoever answers.

`client.Client` answers it over HTTPS from any cluster; `apiserver.LocalApi` answers it inside the process of the
embedded cluster. Operator, node and command line are written against this and cannot tell the difference.

Every method raises `kube.errors.ApiError`s and nothing else of the transport: a server that cannot be reached is
`Unavailable`. Objects that are handed out belong to the caller: changing one changes nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from paddock.kube.meta import Manifest, Resource

PatchKind = Literal["merge", "strategic", "json"]


class Event(NamedTuple):
    """One change that `follow` saw.

    ADDED, MODIFIED and DELETED carry the object as it is, or last was. SYNCED carries nothing: all that existed when
    the following began has been given. After a broken connection `follow` goes on by itself: what vanished meanwhile
    comes as DELETED, with no more of the object than kind, key and UID, and what is still there but changed as
    MODIFIED.
    """

    type: Literal["ADDED", "MODIFIED", "DELETED", "SYNCED"]
    object: Manifest


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of a list and the resourceVersion it is true at."""

    items: list[Manifest] = field(default_factory=list)
    resource_version: str = ""


class Api(Protocol):
    """A Kubernetes API. An empty `namespace` means all of them, or that the resource has none."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest: ...

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        """`labels` and `fields` are selectors as kubectl writes them: `a=b,c!=d`, `metadata.name=x`."""
        ...

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
        """`namespace` defaults to the manifest's; `name` and `subresource` together post to one (`pods/x/binding`).
        `strict` refuses unknown and duplicate fields instead of dropping them (fieldValidation=Strict)."""
        ...

    async def replace(
        self, resource: Resource, manifest: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> Manifest:
        """Guarded by the manifest's resourceVersion if it has one: `Conflict` when the object has moved on."""
        ...

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        kind: PatchKind = "merge",
    ) -> Manifest:
        """A `metadata.resourceVersion` inside a merge patch guards it: `Conflict` when the object has moved on."""
        ...

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] = "Background",
    ) -> None:
        """`uid` guards it: `Conflict` when another object has the name by now. `grace` in seconds, for pods."""
        ...

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        """All that is there, then SYNCED, then every change, for ever; it outlives broken connections and restarts
        of the server. Only what nobody can mend ends it: `Forbidden`, `Unauthorized`, a kind that is not served
        (`NotFound`) at the first try."""
        ...
