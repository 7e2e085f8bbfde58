"""OpenAPI v2, of which kubectl before 1.28 reads whether the server checks fields; its schemas are in `openapi` (v3).

Those kubectls refuse to create anything where there is no such document. They read Protobuf only: the messages are
gnostic's, `openapiv2/OpenAPIv2.proto`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from paddock.apiserver.kinds.registry import Registry
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.meta import Manifest

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The same without the @, which is no part of a media type: Kubernetes answers so, and Go reads nothing else."""

_GVK = "x-kubernetes-group-version-kind"
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")
Encode = Callable[[int, str | bytes], bytes]


def build_document(registry: Registry) -> Manifest:
    """GET /openapi/v2 as JSON: one path of each kind, with the parameters of its PATCH."""
    paths = {}
    for served in _served(registry):
        patch: dict[str, Any] = {
            "parameters": [{"name": name, "in": "query", "type": "string"} for name in _PARAMETERS],
            "responses": {"200": {"description": "OK"}},
            _GVK: _group_version_kind(served),
        }
        paths[_path(served)] = {"patch": patch}
    # kubectl does not check a kind that has no definition here. The server checks it, and refuses unknown fields where
    # it is asked to (`fieldValidation` of the PATCH).
    return {
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.37.0"}, "paths": paths, "definitions": {},
    }  # fmt: skip


def build_protobuf(registry: Registry, field: Encode) -> bytes:
    """The same as a gnostic `Document`."""
    query = [field(8, field(1, field(2, field(3, field(2, "query") + field(4, name))))) for name in _PARAMETERS]
    answer = field(9, field(1, field(1, "200") + field(2, field(1, field(1, "OK")))))
    paths = b""
    for served in _served(registry):
        # gnostic holds an extension as YAML, and JSON is YAML.
        gvk = msgspec.json.encode(_group_version_kind(served))
        patch = b"".join(query) + answer + field(13, field(1, _GVK) + field(2, field(2, gvk)))
        paths += field(2, field(1, _path(served)) + field(2, field(8, patch)))
    info = field(1, "Kubernetes") + field(2, "v1.37.0")
    return field(1, "2.0") + field(2, info) + field(8, paths) + field(9, b"")


def _served(registry: Registry) -> list[ServedResource]:
    return [
        served
        for group in registry.groups()
        for version in registry.versions(group)
        for served in registry.group_version(group, version)
        if not served.computed
    ]


def _path(served: ServedResource) -> str:
    return served.resource.path("{namespace}" if served.resource.namespaced else "", "{name}")


def _group_version_kind(served: ServedResource) -> Manifest:
    resource = served.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}
