"""Discovery documents: groups, versions, kinds and verbs, in the legacy and the aggregated form.

Source: meta/v1 APIVersions, APIGroupList, APIResourceList; apidiscovery.k8s.io/v2 APIGroupDiscoveryList, which
saves kubectl one request for each group version. The Python clients support the legacy form only. Beside the served
kinds stand those that are known and not served, without verbs (`refused`).
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import NamedTuple

from paddock.apiserver.kinds.refused import list_refused
from paddock.apiserver.kinds.registry import Registry, order_versions
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.meta import Manifest

KUBERNETES = ("1", "37")
"""The version of Kubernetes whose rules hold here: clients choose features by it."""


class Subresource(NamedTuple):
    """The discovery entry of a subresource: the kind of its objects (group, version, kind) and its verbs."""

    kind: tuple[str, str, str]
    verbs: tuple[str, ...]


_SUBRESOURCES = {
    "log": Subresource(("", "v1", "Pod"), ("get",)),
    "stacks": Subresource(("paddock.dev", "v1alpha1", "PodStacks"), ("get",)),
    "exec": Subresource(("", "v1", "PodExecOptions"), ("create", "get")),
    "attach": Subresource(("", "v1", "PodAttachOptions"), ("create", "get")),
    "portforward": Subresource(("", "v1", "PodPortForwardOptions"), ("create", "get")),
    "eviction": Subresource(("policy", "v1", "Eviction"), ("create",)),
    "token": Subresource(("authentication.k8s.io", "v1", "TokenRequest"), ("create",)),
    "binding": Subresource(("", "v1", "Binding"), ("create",)),
    "scale": Subresource(("autoscaling", "v1", "Scale"), ("get", "patch", "update")),
}


def read_subresource(served: ServedResource, name: str) -> Subresource:
    """The entry of subresource `name`; `status` has the kind of the object itself."""
    resource = served.resource
    own = Subresource((resource.group, resource.version, resource.kind), ("get", "patch", "update"))
    return _SUBRESOURCES.get(name, own)


def build_version() -> Manifest:
    """GET /version."""
    major, minor = KUBERNETES
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.0+paddock",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": "linux/amd64" if platform.machine() == "x86_64" else "linux/arm64",
    }


def build_core_versions() -> Manifest:
    """GET /api: the versions of the core group."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def _groups(registry: Registry) -> tuple[str, ...]:
    """Those of served kinds first: kubectl takes the first group that has a name."""
    return tuple(dict.fromkeys((*registry.groups(), *(each.resource.group for each in list_refused(registry)))))


def _versions(registry: Registry, group: str) -> tuple[str, ...]:
    """Those of served kinds first: the first one is preferred."""
    refused = {each.resource.version for each in list_refused(registry) if each.resource.group == group}
    return tuple(dict.fromkeys((*registry.versions(group), *order_versions(refused))))


def _kinds(registry: Registry, group: str, version: str) -> tuple[ServedResource, ...]:
    refused = (
        each for each in list_refused(registry) if (each.resource.group, each.resource.version) == (group, version)
    )
    return (*registry.group_version(group, version), *refused)


def build_group_list(registry: Registry) -> Manifest:
    """GET /apis."""
    groups = [_build_group(registry, group) for group in _groups(registry) if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def build_group(registry: Registry, group: str) -> Manifest | None:
    """GET /apis/GROUP; None if the group is not served."""
    if not group or group not in _groups(registry):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_build_group(registry, group)}


def _build_group(registry: Registry, group: str) -> Manifest:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _versions(registry, group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def build_resource_list(registry: Registry, group: str, version: str) -> Manifest | None:
    """GET /api/v1 and /apis/GROUP/VERSION; None if the version is not served."""
    served = _kinds(registry, group, version)
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [entry for one in served for entry in _build_resources(one)],
    }


def _build_resources(served: ServedResource) -> Iterator[Manifest]:
    resource = served.resource
    entry: Manifest = {
        "name": resource.plural,
        "singularName": served.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    yield entry
    for name in sorted(served.subresources):
        subresource = read_subresource(served, name)
        group, version, kind = subresource.kind
        yield {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": list(subresource.verbs),
            # Without group and version, those of the list hold (meta/v1 APIResource).
            **({} if (group, version) == (resource.group, resource.version) else {"group": group, "version": version}),
        }


def build_aggregated(registry: Registry, core: bool) -> Manifest:
    """GET /api (`core`) or /apis as an APIGroupDiscoveryList."""
    groups = [group for group in _groups(registry) if (not group) is core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [_aggregate(served) for served in _kinds(registry, group, version)],
                        "freshness": "Current",
                    }
                    for version in _versions(registry, group)
                ],
            }
            for group in groups
        ],
    }


def _aggregate(served: ServedResource) -> Manifest:
    resource = served.resource
    entry: Manifest = {
        "resource": resource.plural,
        "responseKind": _response_kind((resource.group, resource.version, resource.kind)),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    if served.subresources:
        entry["subresources"] = [
            {"subresource": name, "responseKind": _response_kind(found.kind), "verbs": list(found.verbs)}
            for name in sorted(served.subresources)
            for found in (read_subresource(served, name),)
        ]
    return entry


def _response_kind(kind: tuple[str, str, str]) -> Manifest:
    group, version, name = kind
    return {"group": group, "version": version, "kind": name}
