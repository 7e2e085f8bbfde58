"""The calls of a Kubernetes API as values: one class for each verb, with the type of its response.

Callers use the methods of `kube.api.Api`, which build these values; implementations and wrappers of `Api` read them.
The verbs are Kubernetes' (kubernetes.io, "Kubernetes API Concepts"), without watch: it has no single response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from paddock.kube.meta import Manifest, Resource

PatchKind = Literal["merge", "strategic", "json"]
Propagation = Literal["Background", "Foreground", "Orphan"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


# Structs, as every command imports this module: the class of a frozen dataclass takes thirty times as long to make.
class Listing(msgspec.Struct, frozen=True):
    """The objects of a list and its resourceVersion."""

    items: list[Manifest] = []
    resource_version: str = ""


class Call(msgspec.Struct, Generic[T_co], frozen=True):
    """A call with a response of type `T_co`. The fields are those of Kubernetes' RequestInfo."""

    verb: ClassVar[str]
    """Kubernetes' name of the verb, as in RBAC and metrics."""

    resource: Resource
    namespace: str = ""  # empty for all namespaces, or a cluster-scoped resource
    name: str = ""  # empty for a list, and for a new object that the server names
    subresource: str = ""  # it can be created, replaced or patched


class Get(Call[Manifest], frozen=True):
    verb = "get"


class List(Call[Listing], frozen=True, kw_only=True):
    """The objects of a kind."""

    verb = "list"

    labels: str = ""
    """A selector as kubectl writes it: `a=b,c!=d`."""
    fields: str = ""
    """A selector as kubectl writes it: `metadata.name=x`."""
    keep: Callable[[Manifest], Manifest] | None = None
    """The part of each object that the caller reads. A client holds no more of it than a page: who creates objects
    chooses how large they are and how many; an API in the same process may give the whole."""


class Create(Call[Manifest], frozen=True, kw_only=True):
    """A new object. With a `subresource`, `name` is that of its object (`pods/x/binding`)."""

    verb = "create"

    manifest: Mapping[str, Any]
    strict: bool = False
    """Refuse unknown and duplicate fields instead of dropping them (fieldValidation=Strict)."""
    dry_run: bool = False
    """Return the object without storing it."""


class Replace(Call[Manifest], frozen=True, kw_only=True):
    """Guarded by the manifest's resourceVersion, if it has one: `Conflict` if the object has changed since."""

    verb = "update"

    manifest: Mapping[str, Any]
    strict: bool = False  # as that of `Create`
    dry_run: bool = False  # as that of `Create`


class Patch(Call[Manifest], frozen=True, kw_only=True):
    """Guarded by the `metadata.resourceVersion` of a merge patch, if it has one: `Conflict` if the object has changed
    since."""

    verb = "patch"

    patch: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    kind: PatchKind = "merge"
    strict: bool = False  # as that of `Create`
    dry_run: bool = False  # as that of `Create`


class Delete(Call[None], frozen=True, kw_only=True):
    """The end of an object."""

    verb = "delete"

    uid: str = ""  # guards it: `Conflict` if another object has the name now
    grace: int | None = None  # a pod's grace period in seconds
    propagation: Propagation = "Background"
