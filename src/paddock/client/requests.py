"""Requests to a Kubernetes API as values, and parsers of its answers. PURE: `client.connection` sends.

`build` encodes a call (`kube.calls`); pages of a list, watches and logs have builders of their own. A body is bytes, so
a test compares exactly what is sent. Source: kubernetes.io, "Kubernetes API Concepts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paddock.kube.calls import Call, Create, Delete, List, Patch, PatchKind, Replace
from paddock.kube.errors import ApiError, InternalError, read_status
from paddock.kube.meta import PODS, Manifest, Resource

PAGE = 500
"""Objects in a page at most, as in kubectl."""

PAGE_BYTES, MOST_PAGE_BYTES = 4 << 20, 8 << 20
"""A page is to be about this long. One of several objects that is longer than the second is not read to its end: who
creates objects chooses how large they are, and may put small ones first."""

Buffer = bytes | msgspec.Raw
"""JSON."""

_PATCH_TYPES: Mapping[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    most: int = 0
    """Bytes of the answer's body that are taken at most; 0: all."""


def build(call: Call[Any]) -> Request:
    """The request of a call; of a list, of its first page."""
    path = call.resource.path(call.namespace, call.name, call.subresource)
    match call:
        case List():
            return build_page(call)
        case Create():
            return _build_create(call)
        case Replace():
            if not call.name:
                raise ValueError(f"a {call.resource.kind} to replace has no name")
            return Request("PUT", path, _write_query(call), _json(), msgspec.json.encode(call.manifest))
        case Patch():
            headers = {"Content-Type": _PATCH_TYPES[call.kind]}
            return Request("PATCH", path, _write_query(call), headers, msgspec.json.encode(call.patch))
        case Delete():
            return Request("DELETE", path, {}, _json(), msgspec.json.encode(_delete_options(call)))
        case _:
            return Request("GET", path)


def build_page(call: List, *, token: str = "", limit: int = PAGE) -> Request:
    """The request of one page. `token`: `continue` of the page before. `limit` 0: all objects."""
    query = _present(
        labelSelector=call.labels, fieldSelector=call.fields, limit=str(limit or ""), **{"continue": token}
    )
    most = MOST_PAGE_BYTES if limit > 1 else 0  # one object is taken, whatever its size
    return Request("GET", call.resource.path(call.namespace), query, most=most)


def choose_limit(limit: int, objects: int, size: int) -> int:
    """Objects of the page that follows one of `objects` in `size` bytes, which was to have `limit`."""
    if not objects or not limit:
        return limit
    # Not at once as many as would fit: those that follow may be larger.
    return max(1, min(PAGE, 4 * limit, PAGE_BYTES * objects // size))


def reduce_limit(limit: int) -> int:
    """Objects of a page that was too long with `limit` of them."""
    return max(1, limit // 8)


def build_watch(call: List, version: str, *, seconds: int) -> Request:
    """A watch of the list's selection, from `version`. The server ends it after `seconds`. Bookmarks come about once a
    minute, so a dead connection is noticed, and a quiet watch keeps a version to resume from."""
    query = _present(
        watch="true",
        allowWatchBookmarks="true",
        resourceVersion=version,
        timeoutSeconds=str(seconds),
        labelSelector=call.labels,
        fieldSelector=call.fields,
    )
    return Request("GET", call.resource.path(call.namespace), query)


def _build_create(call: Create) -> Request:
    if call.resource.namespaced and not call.namespace:
        raise ValueError(f"a {call.resource.kind} to create names no namespace")
    # A new object is posted to its collection; only a subresource has a name in the path, that of its object.
    path = call.resource.path(call.namespace, call.name if call.subresource else "", call.subresource)
    return Request("POST", path, _write_query(call), _json(), msgspec.json.encode(call.manifest))


def _write_query(call: Create | Replace | Patch) -> Mapping[str, str]:
    return _present(fieldValidation="Strict" if call.strict else "", dryRun="All" if call.dry_run else "")


def _delete_options(call: Delete) -> Manifest:
    options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": call.propagation}
    if call.uid:
        options["preconditions"] = {"uid": call.uid}
    if call.grace is not None:
        options["gracePeriodSeconds"] = call.grace
    return options


def build_log(
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
) -> Request:
    """`tail` in lines, `since` in seconds before now, `since_time` as metav1.Time (core/v1 PodLogOptions)."""
    query = _present(
        container=container,
        follow="true" if follow else "",
        tailLines="" if tail is None else str(tail),
        sinceSeconds="" if since is None else str(max(1, round(since))),
        sinceTime=since_time,
        timestamps="true" if timestamps else "",
        previous="true" if previous else "",
    )
    return Request("GET", PODS.path(namespace, pod, "log"), query, {"Accept": "*/*"})


def _json() -> dict[str, str]:
    return {"Content-Type": "application/json"}


def _present(**query: str) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}


class _ListMeta(msgspec.Struct, rename={"token": "continue", "resource_version": "resourceVersion"}):
    resource_version: str = ""
    token: str | None = None


class _Page(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list: its objects as JSON, the resourceVersion of the list, and the continue token, if any. `first`:
    the list starts with this page. The objects are views of the whole page, which stays in memory with any of them."""

    items: Sequence[Buffer]
    resource_version: str
    token: str
    first: bool = True


class Identity(msgspec.Struct, rename="camel"):
    """The identity and the version of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identified(msgspec.Struct):
    metadata: Identity | None = None


_OBJECTS = msgspec.json.Decoder(dict[str, Any])
_PAGES = msgspec.json.Decoder(_Page)
_IDENTITIES = msgspec.json.Decoder(_Identified)


def read_page(body: bytes, *, first: bool = True) -> Page:
    """The objects stay bytes: a follower decodes only new and changed ones."""
    try:
        page = _PAGES.decode(body)
    except msgspec.DecodeError as error:
        raise _not_kubernetes(body, error) from None
    return Page(page.items or (), page.metadata.resource_version, page.metadata.token or "", first)


def read_identity(body: Buffer) -> Identity:
    try:
        return _IDENTITIES.decode(body).metadata or Identity()
    except msgspec.DecodeError as error:
        raise _not_kubernetes(body, error) from None


def read_object(resource: Resource, body: Buffer) -> Manifest:
    """The object, with apiVersion and kind, which lists of built-in kinds omit in their items."""
    try:
        manifest: Manifest = _OBJECTS.decode(body)
    except msgspec.DecodeError as error:
        raise _not_kubernetes(body, error) from None
    manifest.setdefault("apiVersion", resource.api_version)
    manifest.setdefault("kind", resource.kind)
    return manifest


def _not_kubernetes(body: Buffer, error: Exception) -> InternalError:
    begin = bytes(memoryview(body)[:80])
    return InternalError(f"the server's answer is not one of a Kubernetes API ({error}): it begins with {begin!r}")


def read_error(code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error of an answer, also if it comes from a proxy and is not a `Status` object."""
    try:
        status = _OBJECTS.decode(body)
    except msgspec.DecodeError:
        text = body[:200].decode(errors="replace").strip()
        status = {"message": f"the server answered {code}: {text}"} if text else {}
    error = read_status(code, status)
    if error.retry_after is None and (wait := headers.get("Retry-After", "")).isdigit():
        error.retry_after = float(wait)
    return error
