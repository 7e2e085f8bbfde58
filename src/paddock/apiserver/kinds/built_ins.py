"""The served built-in kinds: those that pods, kubectl and the Python clients need.

A Deployment is stored and listed, but no controller acts on it. Names, short names and categories are Kubernetes' own.
"""

from __future__ import annotations

from paddock.apiserver.schema.resource import AGE, VERBS, Column, ServedResource
from paddock.apiserver.storage.event_forms import NEW_EVENTS, build_new_schema
from paddock.kube import meta, schemas
from paddock.kube.meta import PRIORITY_CLASSES, Resource
from paddock.kube.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES

_STATUS = frozenset({"status"})
_POD = frozenset({"status", "log", "stacks", "binding", "exec", "attach", "portforward", "eviction"})
ENDPOINTS = Resource("", "v1", "Endpoints", "endpoints")
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")

_PHASE = (Column("Status", "string", ".status.phase"), AGE)
_CREATED_AT = (Column("Created At", "string", ".metadata.creationTimestamp"),)
_ROLE = (Column("Role", "string", ".roleRef.name"), AGE)
_VOLUME_COLUMNS = (
    Column("Capacity", "string", ".spec.capacity.storage"),
    Column("Access Modes", "string", ".spec.accessModes[*]"),
    Column("Reclaim Policy", "string", ".spec.persistentVolumeReclaimPolicy"),
    Column("Status", "string", ".status.phase"),
    Column("Claim", "string", ".spec.claimRef.name"),
    Column("StorageClass", "string", ".spec.storageClassName"),
    Column("Reason", "string", ".status.reason"),
    AGE,
    Column("VolumeMode", "string", ".spec.volumeMode", priority=1),
)
_CLAIM_COLUMNS = (
    Column("Status", "string", ".status.phase"),
    Column("Volume", "string", ".spec.volumeName"),
    Column("Capacity", "string", ".status.capacity.storage"),
    Column("Access Modes", "string", ".status.accessModes[*]"),
    Column("StorageClass", "string", ".spec.storageClassName"),
    AGE,
    Column("VolumeMode", "string", ".spec.volumeMode", priority=1),
)


def _kind(
    resource: Resource,
    *short_names: str,
    subresources: frozenset[str] = frozenset(),
    categories: tuple[str, ...] = (),
    columns: tuple[Column, ...] = (AGE,),
    verbs: tuple[str, ...] = VERBS,
) -> ServedResource:
    return ServedResource(
        resource=resource,
        singular=resource.kind.lower(),
        short_names=short_names,
        categories=categories,
        subresources=subresources,
        schema=schemas.definition(resource.kind),
        columns=columns,
        verbs=verbs,
    )


_ONE_BY_ONE = tuple(verb for verb in VERBS if verb != "deletecollection")
"""Of namespaces: a mistyped `DELETE /api/v1/namespaces` would delete all that there is."""

BUILT_INS: tuple[ServedResource, ...] = (
    _kind(meta.NAMESPACES, "ns", subresources=_STATUS, columns=_PHASE, verbs=_ONE_BY_ONE),
    _kind(meta.NODES, "no", subresources=_STATUS),
    _kind(meta.PODS, "po", subresources=_POD, categories=("all",)),
    _kind(meta.SERVICES, "svc", subresources=_STATUS, categories=("all",)),
    _kind(meta.CONFIG_MAPS, "cm"),
    _kind(meta.SECRETS),
    _kind(meta.EVENTS, "ev"),
    _kind(meta.SERVICE_ACCOUNTS, "sa", subresources=frozenset({"token"})),
    _kind(meta.VOLUMES, "pv", subresources=_STATUS, columns=_VOLUME_COLUMNS),
    _kind(meta.CLAIMS, "pvc", subresources=_STATUS, columns=_CLAIM_COLUMNS),
    _kind(ENDPOINTS, "ep"),
    _kind(meta.LEASES, columns=(Column("Holder", "string", ".spec.holderIdentity"), AGE)),
    _kind(meta.CRDS, "crd", "crds", subresources=_STATUS, categories=("api-extensions",), columns=_CREATED_AT),
    _kind(ROLES, columns=_CREATED_AT),
    _kind(ROLE_BINDINGS, columns=_ROLE),
    _kind(CLUSTER_ROLES, columns=_CREATED_AT),
    _kind(CLUSTER_ROLE_BINDINGS, columns=_ROLE),
    _kind(DEPLOYMENTS, "deploy", subresources=frozenset({"status", "scale"}), categories=("all",)),
    _kind(meta.RESOURCE_QUOTAS, "quota", subresources=_STATUS),
    _kind(meta.LIMIT_RANGES, "limits", columns=_CREATED_AT),
    _kind(PRIORITY_CLASSES, "pc"),
    ServedResource(
        NEW_EVENTS,
        "event",
        ("ev",),
        schema=build_new_schema(schemas.definition("Event")),
        columns=(AGE,),
        storage=False,
    ),
)
