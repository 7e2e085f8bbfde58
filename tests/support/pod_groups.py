"""The definitions of the three PodGroups with the fields that their projects give them, and no others: a real API
server drops what they lack, as it would on a cluster."""

from __future__ import annotations

import asyncio
from typing import Any

from paddock.kube.api import Api
from paddock.kube.errors import NotFound
from paddock.kube.meta import CRDS, KUBERNETES_POD_GROUPS, POD_GROUPS, VOLCANO_POD_GROUPS, Manifest, Resource, name_of

_WHOLE = {"type": "integer", "format": "int32"}
_AMOUNTS = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
}
_TEXT = {"type": "string"}
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(**properties: Any) -> Manifest:
    return {"type": "object", "properties": properties}


_CONDITIONS = {"type": "array", "items": _FREE}
_SPECS: dict[Resource, Manifest] = {
    # volcano.sh/apis, pkg/apis/scheduling/v1beta1/types.go
    VOLCANO_POD_GROUPS: _object(
        minMember=_WHOLE,
        minTaskMember={"type": "object", "additionalProperties": _WHOLE},
        queue={"type": "string", "default": "default"},
        priorityClassName=_TEXT,
        minResources=_AMOUNTS,
        networkTopology=_object(mode=_TEXT, highestTierAllowed={"type": "integer"}),
    ),
    # scheduler-plugins, apis/scheduling/v1alpha1/types.go
    POD_GROUPS: _object(minMember={**_WHOLE, "minimum": 1}, minResources=_AMOUNTS, scheduleTimeoutSeconds=_WHOLE),
    # Kubernetes 1.37, staging/src/k8s.io/api/scheduling/v1beta1/types.go
    KUBERNETES_POD_GROUPS: _object(
        workloadRef=_object(workloadName=_TEXT, templateName=_TEXT),
        schedulingPolicy=_object(basic=_FREE, gang=_object(minCount={**_WHOLE, "minimum": 1})),
        schedulingConstraints=_object(topology={"type": "array", "maxItems": 1, "items": _object(key=_TEXT)}),
        resourceClaims={"type": "array", "items": _FREE},
        disruptionMode={**_object(single=_FREE, all=_FREE), "default": {"single": {}}},
        priorityClassName=_TEXT,
        priority=_WHOLE,
        preemptionPolicy=_TEXT,
    ),
}


def build_definition(resource: Resource) -> Manifest:
    schema = _object(spec=_SPECS[resource], status={**_FREE, **_object(conditions=_CONDITIONS)})
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": resource.plural, "singular": "podgroup", "kind": resource.kind, "listKind": "PodGroupList"}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {
            "name": resource.qualified,
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests alone"},
        },
        "spec": {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


async def install(api: Api, resource: Resource) -> None:
    """Its PodGroups are served when this returns. A definition that is there is replaced."""
    await remove(api, resource)
    await api.create(CRDS, build_definition(resource))
    async with asyncio.timeout(180):
        while not await is_served(api, resource):  # noqa: ASYNC110 - it is the server that is waited for
            await asyncio.sleep(0.05)


async def remove(api: Api, resource: Resource) -> None:
    """Its PodGroups are not served any more when this returns, nor is there any."""
    try:
        await api.delete(CRDS, "", name_of(build_definition(resource)))
    except NotFound:
        return
    async with asyncio.timeout(180):
        while await is_served(api, resource) or await _is_defined(api, resource):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.05)


async def is_served(api: Api, resource: Resource) -> bool:
    try:
        await api.list(resource, "default")
    except NotFound:
        return False
    return True


async def _is_defined(api: Api, resource: Resource) -> bool:
    try:
        await api.get(CRDS, "", name_of(build_definition(resource)))
    except NotFound:
        return False
    return True
