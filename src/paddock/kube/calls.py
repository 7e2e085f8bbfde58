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
    """A call with a response of type `T_co`. The fields are those of Kubernetes' RequestInfo.

    An empty `namespace` means all namespaces, or a cluster-scoped resource. `name` is empty for a list, and for a new
    object that the server names. A `subresource` can be created, replaced or patched."""

    verb: ClassVar[str]
    """Kubernetes' name of the verb, as in RBAC and metrics."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Get(Call[Manifest], frozen=True):
    verb = "get"


class List(Call[Listing], frozen=True, kw_only=True):
    """`labels` and `fields` are selectors as kubectl writes them: `a=b,c!=d`, `metadata.name=x`. `keep`: the part of
    each object that the caller reads. A client holds no more of it than a page: who creates objects chooses how large
    they are and how many; an API in the same process may give the whole."""

    verb = "list"

    labels: str = ""
    fields: str = ""
    keep: Callable[[Manifest], Manifest] | None = None


class Create(Call[Manifest], frozen=True, kw_only=True):
    """`strict` refuses unknown and duplicate fields instead of dropping them (fieldValidation=Strict). `dry_run`
    returns the object without storing it. With a `subresource`, `name` is that of its object (`pods/x/binding`)."""

    verb = "create"

    manifest: Mapping[str, Any]
    strict: bool = False
    dry_run: bool = False


class Replace(Call[Manifest], frozen=True, kw_only=True):
    """Guarded by the manifest's resourceVersion, if it has one: `Conflict` if the object has changed since. `strict`
    and `dry_run` are those of `Create`."""

    verb = "update"

    manifest: Mapping[str, Any]
    strict: bool = False
    dry_run: bool = False


class Patch(Call[Manifest], frozen=True, kw_only=True):
    """Guarded by the `metadata.resourceVersion` of a merge patch, if it has one: `Conflict` if the object has changed
    since."""

    verb = "patch"

    patch: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    kind: PatchKind = "merge"


class Delete(Call[None], frozen=True, kw_only=True):
    """Guarded by `uid`: `Conflict` if another object has the name now. `grace`: a pod's grace period in seconds."""

    verb = "delete"

    uid: str = ""
    grace: int | None = None
    propagation: Propagation = "Background"
