"""Requests to a Kubernetes API as values, and what its answers hold. PURE: `client.Client` sends, nothing here does.

One function for each verb of the API (kubernetes.io, "Kubernetes API Concepts"). A body is bytes already, so that what
a test compares is what goes over the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paddock.kube.api import PatchKind
from paddock.kube.errors import ApiError, InternalError, read_status
from paddock.kube.meta import PODS, Manifest, Resource, namespace_of

PAGE = 500
"""Objects asked for at a time, as kubectl does."""

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


def build_get(resource: Resource, namespace: str, name: str) -> Request:
    return Request("GET", resource.path(namespace, name))


def build_list(
    resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "", token: str = "", limit: int = PAGE
) -> Request:
    """One page; `token` is the `continue` of the page before."""
    query = _present(labelSelector=labels, fieldSelector=fields, limit=str(limit or ""), **{"continue": token})
    return Request("GET", resource.path(namespace), query)


def build_watch(
    resource: Resource, namespace: str, version: str, *, labels: str = "", fields: str = "", seconds: int
) -> Request:
    """Changes after `version`. The server ends it after `seconds`, so that a dead connection is found in time."""
    query = _present(
        watch="true",
        allowWatchBookmarks="true",
        resourceVersion=version,
        timeoutSeconds=str(seconds),
        labelSelector=labels,
        fieldSelector=fields,
    )
    return Request("GET", resource.path(namespace), query)


def build_create(
    resource: Resource,
    manifest: Mapping[str, Any],
    *,
    namespace: str = "",
    name: str = "",
    subresource: str = "",
    strict: bool = False,
    dry_run: bool = False,
) -> Request:
    namespace = namespace or namespace_of(manifest)
    if resource.namespaced and not namespace:
        raise ValueError(f"a {resource.kind} to create names no namespace")
    query = _present(fieldValidation="Strict" if strict else "", dryRun="All" if dry_run else "")
    path = resource.path(namespace, name if subresource else "", subresource)
    return Request("POST", path, query, _json(), msgspec.json.encode(manifest))


def build_replace(
    resource: Resource, manifest: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
) -> Request:
    name = str(manifest["metadata"]["name"])
    path = resource.path(namespace or namespace_of(manifest), name, subresource)
    return Request("PUT", path, {}, _json(), msgspec.json.encode(manifest))


def build_patch(
    resource: Resource,
    namespace: str,
    name: str,
    patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    subresource: str = "",
    kind: PatchKind = "merge",
) -> Request:
    headers = {"Content-Type": _PATCH_TYPES[kind]}
    return Request("PATCH", resource.path(namespace, name, subresource), {}, headers, msgspec.json.encode(patch))


def build_delete(
    resource: Resource,
    namespace: str,
    name: str,
    *,
    uid: str = "",
    grace: int | None = None,
    propagation: str = "Background",
) -> Request:
    options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
    if uid:
        options["preconditions"] = {"uid": uid}
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    return Request("DELETE", resource.path(namespace, name), {}, _json(), msgspec.json.encode(options))


def build_log(
    namespace: str,
    pod: str,
    *,
    container: str = "",
    follow: bool = False,
    tail: int | None = None,
    since: float | None = None,
    timestamps: bool = False,
    previous: bool = False,
) -> Request:
    """`tail` in lines, `since` in seconds before now (core/v1 PodLogOptions)."""
    query = _present(
        container=container,
        follow="true" if follow else "",
        tailLines="" if tail is None else str(tail),
        sinceSeconds="" if since is None else str(max(1, round(since))),
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
    """Part of a list: its objects as JSON, the version it is true at, and the token of the next page, if any.
    `first`: a list begins with it."""

    items: list[bytes]
    resource_version: str
    token: str
    first: bool = True


class Head(msgspec.Struct, rename="camel"):
    """What tells an object from another, and one version of it from the next."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Headed(msgspec.Struct):
    metadata: Head | None = None


_OBJECTS = msgspec.json.Decoder(dict[str, Any])
_PAGES = msgspec.json.Decoder(_Page)
_HEADS = msgspec.json.Decoder(_Headed)


def read_page(body: bytes, *, first: bool = True) -> Page:
    """Objects stay bytes here, so that a follower reads only what it has not seen."""
    try:
        page = _PAGES.decode(body)
    except msgspec.DecodeError as error:
        raise _not_ours(body, error) from None
    items = [bytes(item) for item in page.items or ()]
    return Page(items, page.metadata.resource_version, page.metadata.token or "", first)


def read_head(body: bytes) -> Head:
    try:
        return _HEADS.decode(body).metadata or Head()
    except msgspec.DecodeError as error:
        raise _not_ours(body, error) from None


def read_object(resource: Resource, body: bytes) -> Manifest:
    """The object, with the kind that lists of built-in kinds leave out of their items."""
    try:
        manifest: Manifest = _OBJECTS.decode(body)
    except msgspec.DecodeError as error:
        raise _not_ours(body, error) from None
    manifest.setdefault("apiVersion", resource.api_version)
    manifest.setdefault("kind", resource.kind)
    return manifest


def _not_ours(body: bytes, error: Exception) -> InternalError:
    return InternalError(f"the server's answer is not one of a Kubernetes API ({error}): it begins with {body[:80]!r}")


def read_error(code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error of an answer, also of one that a proxy gave and that is no `Status` object."""
    try:
        status = _OBJECTS.decode(body)
    except msgspec.DecodeError:
        text = body[:200].decode(errors="replace").strip()
        status = {"message": f"the server answered {code}: {text}"} if text else {}
    error = read_status(code, status)
    if error.retry_after is None and headers.get("Retry-After", "").isdigit():
        error.retry_after = float(headers["Retry-After"])
    return error
