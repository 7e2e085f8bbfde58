"""OpenAPI v3 as kubectl needs it: an index, and one document for each group version.

kubectl reads two parts of a document: the query parameters of a kind's operations, and the schemas, for
`kubectl explain`. Documents are built on request and cached per set of kinds. Source: kube-openapi, and the additions
of apiextensions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from paddock.apiserver.kinds.refused import explain_refused, is_of_kubernetes, list_refused
from paddock.apiserver.kinds.registry import Registry
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube import schemas
from paddock.kube.meta import Manifest

_GVK = "x-kubernetes-group-version-kind"
# Strategic merge patches are accepted for built-in kinds, but not listed here: kubectl would then read merge keys from
# these schemas, which have none, instead of using its own.
_BODY_TYPES = {
    "post": ("application/json", "application/yaml"),
    "put": ("application/json", "application/yaml"),
    "patch": ("application/json-patch+json", "application/merge-patch+json"),
    "delete": ("application/json",),
}
_ACTIONS_OF_ALL = {"get": "list", "post": "post", "delete": "deletecollection"}
_VERBS = {"post": "create"}
_ACTIONS_OF_ONE = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}


def build_index(registry: Registry) -> Manifest:
    """GET /openapi/v3: the URL of each document. The hash changes with the document, so clients may cache it."""
    paths = {}
    for group, version in _list_versions(registry):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        document = build_document(registry, group, version)
        digest = hashlib.sha256(document).hexdigest().upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _list_versions(registry: Registry) -> Iterable[tuple[str, str]]:
    served = [(group, version) for group in registry.groups() for version in registry.versions(group)]
    refused = [(each.resource.group, each.resource.version) for each in list_refused(registry)]
    return dict.fromkeys((*served, *refused))


def build_document(registry: Registry, group: str, version: str) -> bytes:
    """GET /openapi/v3/apis/GROUP/VERSION; empty if the group version has no kinds. Kinds that are known and not
    served are described by what to do instead, which `kubectl explain` shows."""
    served = registry.group_version(group, version)
    refused = tuple(
        (each, explain_refused(registry, group, version, each.resource.plural))
        for each in list_refused(registry)
        if (each.resource.group, each.resource.version) == (group, version)
    )
    return _build_document(served, refused) if served or refused else b""


# The index needs the hash of every document, so it would build all of them at each request.
@lru_cache(maxsize=128)
def _build_document(served: tuple[ServedResource, ...], refused: tuple[tuple[ServedResource, str], ...]) -> bytes:
    served = (*served, *(_describe(each, said) for each, said in refused))
    paths: dict[str, Manifest] = {}
    for one in served:
        paths |= _build_paths(one)
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.0"},
        "paths": paths,
        "components": {"schemas": _build_components(served)},
    }
    return msgspec.json.encode(document)


def _describe(refused: ServedResource, said: str) -> ServedResource:
    # `storage=False`: its schema is this one, and none of those of Kubernetes, which are not here.
    schema = {"description": said, "type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return replace(refused, schema=schema, storage=False, custom=not is_of_kubernetes(refused.resource))


def _build_components(served: tuple[ServedResource, ...]) -> dict[str, Any]:
    """The schemas of the kinds and of their lists, and all Kubernetes schemas that they reference."""
    built_in = [one.resource.kind for one in served if not one.custom and one.storage]
    found: dict[str, Any] = schemas.closure("ObjectMeta", "ListMeta", "DeleteOptions", "Status", *built_in)
    for one in served:
        name, gvk = schema_name(one), _group_version_kind(one)
        own = _custom_schema(one) if one.custom or not one.storage else found[name]
        found[name] = {**own, _GVK: [gvk]}
        found[f"{name}List"] = {**_list_schema(name), _GVK: [{**gvk, "kind": one.list_name}]}
    return found


def schema_name(served: ServedResource) -> str:
    """`io.k8s.api.core.v1.Pod`; for custom kinds the reversed group, as in Kubernetes (`org.example.v1.Widget`)."""
    resource = served.resource
    if not served.custom and served.storage:
        return schemas.full_name(resource.kind)
    if not served.custom:
        return f"io.k8s.api.{resource.group.partition('.')[0]}.{resource.version}.{resource.kind}"
    return ".".join((*reversed(resource.group.split(".")), resource.version, resource.kind))


def _group_version_kind(served: ServedResource) -> Manifest:
    resource = served.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _reference(name: str) -> Manifest:
    return {"$ref": f"#/components/schemas/{name}"}


def _custom_schema(served: ServedResource) -> Manifest:
    schema = served.schema or {}
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        **(schema.get("properties") or {}),
        # `kubectl explain` follows `$ref` and `allOf`, but not `anyOf`.
        "metadata": {"allOf": [_reference(schemas.full_name("ObjectMeta"))]},
    }
    return {**schema, "type": "object", "properties": properties}


def _list_schema(name: str) -> Manifest:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [_reference(schemas.full_name("ListMeta"))]},
            "items": {"type": "array", "items": _reference(name)},
        },
    }


def _build_paths(served: ServedResource) -> dict[str, Manifest]:
    resource = served.resource
    namespace = "{namespace}" if resource.namespaced else ""
    collection, one = resource.path(namespace), resource.path(namespace, "{name}")
    of_all = {method: verb for method, verb in _ACTIONS_OF_ALL.items() if _VERBS.get(verb, verb) in served.verbs}
    of_one = {"get": "get"} if served.computed else _ACTIONS_OF_ONE
    paths = {collection: _build_path(served, of_all, listed=True), one: _build_path(served, of_one)}
    if resource.namespaced:
        paths[resource.path()] = _build_path(served, {"get": "list"}, listed=True)
    if "status" in served.subresources:
        actions = {"get": "get", "put": "put", "patch": "patch"}
        paths[resource.path(namespace, "{name}", "status")] = _build_path(served, actions)
    return paths


def _build_path(served: ServedResource, actions: Mapping[str, str], listed: bool = False) -> Manifest:
    return {method: _build_operation(served, method, action, listed) for method, action in actions.items()}


def _build_operation(served: ServedResource, method: str, action: str, listed: bool) -> Manifest:
    name = schema_name(served)
    answer = f"{name}List" if listed and method == "get" else name
    operation: Manifest = {
        "parameters": [_parameter(*one) for one in _PARAMETERS[method]],
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": _reference(answer)}}},
        },
        "x-kubernetes-action": action,
        _GVK: _group_version_kind(served),
    }
    if method in _BODY_TYPES:
        body: Manifest = _reference(name)
        if method == "delete":
            body = _reference(schemas.full_name("DeleteOptions"))
        elif method == "patch":
            body = {"type": "object"}
        operation["requestBody"] = {"content": {media: {"schema": body} for media in _BODY_TYPES[method]}}
    return operation


# kubectl looks for `fieldValidation` here, and where it is offered leaves the validation to the server.
_WRITE = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_PARAMETERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "get": (("labelSelector", "string"), ("fieldSelector", "string"), ("limit", "integer"), ("watch", "boolean")),
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, ("force", "boolean")),
    "delete": (("dryRun", "string"), ("gracePeriodSeconds", "integer"), ("propagationPolicy", "string")),
}


def _parameter(name: str, kind: str) -> Manifest:
    return {"name": name, "in": "query", "schema": {"type": kind}}
