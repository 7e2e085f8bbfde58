"""The CustomResourceDefinitions of all kinds of job, from what each API group says of its own (`jobs.apis`)."""

from __future__ import annotations

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import CRDS, Manifest


def build_crds() -> tuple[Manifest, ...]:
    """One of each kind, in the registry's order."""
    return tuple(build_crd(api) for api in KINDS.values())


def build_crd(api: JobApi) -> Manifest:
    """CustomResourceDefinition (apiextensions.k8s.io/v1) of one kind."""
    resource = api.resource
    scale = {"scale": dict(api.scale)} if api.scale else {}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": api.build_schema()},
        "subresources": {"status": {}, **scale},
        "additionalPrinterColumns": [
            {"name": name, "jsonPath": path, "type": kind} for name, path, kind in api.columns
        ],
    }
    names = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": names | ({"shortNames": list(api.short_names)} if api.short_names else {}),
            "scope": "Namespaced",
            "versions": [version],
        },
    }
