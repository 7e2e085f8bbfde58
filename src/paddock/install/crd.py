"""The CustomResourceDefinitions of all kinds of job (`jobs.apis`).

They have two versions: apiextensions.k8s.io/v1, and v1beta1 for Kubernetes 1.15 and older, which 1.22 removed. The
other objects of an installation are in `install.deployment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paddock.install.field_sentences import with_sentences
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import CRDS, Manifest, Resource

OLD_CRDS = replace(CRDS, version="v1beta1")


def build_crds() -> tuple[Manifest, ...]:
    """The CRD of each kind, in the registry's order."""
    return tuple(build_crd(api) for api in KINDS.values())


def build_crd(api: JobApi) -> Manifest:
    """CustomResourceDefinition (apiextensions.k8s.io/v1) of one kind."""
    version = {
        "name": api.resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": with_sentences(api.build_schema())},
        "subresources": _subresources(api),
        "additionalPrinterColumns": _columns(api, "jsonPath"),
    }
    return _definition(api, CRDS, {"versions": [version]})


def build_old_crd(api: JobApi) -> Manifest:
    """CustomResourceDefinition of apiextensions.k8s.io/v1beta1: one schema for all versions, without defaults. Unknown
    fields are kept, which is the default of v1beta1."""
    version = {"name": api.resource.version, "served": True, "storage": True}
    spec = {
        "version": api.resource.version,
        "versions": [version],
        "validation": {"openAPIV3Schema": _without_defaults(with_sentences(api.build_schema()))},
        "subresources": _subresources(api),
        "additionalPrinterColumns": _columns(api, "JSONPath"),
    }
    return _definition(api, OLD_CRDS, spec)


def _definition(api: JobApi, kind: Resource, spec: Manifest) -> Manifest:
    resource = api.resource
    names = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": resource.qualified},
        "spec": {
            "group": resource.group,
            "names": names | ({"shortNames": list(api.short_names)} if api.short_names else {}),
            "scope": "Namespaced",
            **spec,
        },
    }


def _subresources(api: JobApi) -> Manifest:
    scale = {"scale": dict(api.scale)} if api.scale else {}
    return {"status": {}, **scale}


def _columns(api: JobApi, path_word: str) -> list[Manifest]:
    return [
        {"name": column.name, path_word: column.path, "type": column.type} | ({"priority": 1} if column.wide else {})
        for column in api.columns
    ]


def _without_defaults(schema: Any) -> Any:
    """A schema without the keyword `default`, which servers of v1beta1 refuse; a property of this name stays."""
    if not isinstance(schema, Mapping):
        return schema
    kept = {word: value for word, value in schema.items() if word != "default"}
    if isinstance(properties := kept.get("properties"), Mapping):
        kept["properties"] = {name: _without_defaults(inner) for name, inner in properties.items()}
    for word in ("items", "additionalProperties"):
        if word in kept:
            kept[word] = _without_defaults(kept[word])
    return kept
