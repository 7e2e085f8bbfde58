"""What an update may not change in an object of a built-in kind. Pure.

Source: Kubernetes' pkg/apis/core, apps and rbac validation (Validate…Update).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from paddock.apiserver.objects.builtin_strategies import value_at
from paddock.apiserver.objects.strategy import invalid
from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube import rbac
from paddock.kube.errors import FieldCause
from paddock.kube.meta import Manifest, name_of
from paddock.kube.quantities import read_quantity

Causes = Iterator[FieldCause]
_MUTABLE_POD_FIELDS = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_STAYS = "field is immutable"


def check_update(served: ServedResource, current: Manifest, updated: Manifest) -> None:
    """Raises `Invalid` if an update changes what stays."""
    check = _CHECKS.get(served.qualified_kind)
    causes = list(check(current, updated)) if check is not None else []
    if causes:
        raise invalid(served, name_of(current), causes)


def _check_definition(current: Manifest, updated: Manifest) -> Causes:
    # Objects are stored under these names, so a change of scope or plural would lose them.
    for path in ("spec.group", "spec.scope", "spec.names.plural", "spec.names.kind"):
        yield from _stays(current, updated, path)


def _stays(current: Manifest, updated: Manifest, path: str) -> Causes:
    if value_at(current, path) != value_at(updated, path):
        yield field_errors.invalid(path, value_at(updated, path), _STAYS)


def _check_pod(current: Manifest, updated: Manifest) -> Causes:
    old, new = current.get("spec") or {}, updated.get("spec") or {}
    if old == new:
        return
    yield from _check_deadline(old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds"))
    kept = [_without(each, "tolerationSeconds") for each in new.get("tolerations") or ()]
    if any(_without(each, "tolerationSeconds") not in kept for each in old.get("tolerations") or ()):
        yield field_errors.forbidden(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
    if _immutable_spec(old) != _immutable_spec(new):
        yield field_errors.forbidden(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,"
            " `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions "
            "to existing"
            " tolerations), `spec.terminationGracePeriodSeconds`; delete the pod and create it anew",
        )


def _check_deadline(old: Any, new: Any) -> Causes:
    if old is not None and new is None:
        yield field_errors.invalid(
            "spec.activeDeadlineSeconds", new, "must not update from a positive integer to nil value"
        )
    elif old is not None and new > old:
        yield field_errors.invalid("spec.activeDeadlineSeconds", new, "must be less than or equal to previous value")


def _without(item: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in fields}


def _immutable_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    frozen = _without(spec, *_MUTABLE_POD_FIELDS)
    for field in ("containers", "initContainers"):
        if isinstance(frozen.get(field), list):
            frozen[field] = [_without(item, "image") for item in frozen[field]]
    return frozen


def _check_binding(current: Manifest, updated: Manifest) -> Causes:
    if current.get("roleRef") != updated.get("roleRef"):
        yield field_errors.invalid("roleRef", updated.get("roleRef"), "cannot change roleRef")


def _check_data(current: Manifest, updated: Manifest) -> Causes:
    if current.get("immutable"):
        for field in ("data", "binaryData", "immutable"):
            if (current.get(field) or None) != (updated.get(field) or None):
                yield field_errors.forbidden(field, "field is immutable when `immutable` is set")


def _check_secret(current: Manifest, updated: Manifest) -> Causes:
    yield from _stays(current, updated, "type")
    yield from _check_data(current, updated)


def _check_deployment(current: Manifest, updated: Manifest) -> Causes:
    yield from _stays(current, updated, "spec.selector")


def _check_service(current: Manifest, updated: Manifest) -> Causes:
    external = "ExternalName" in (value_at(current, "spec.type"), value_at(updated, "spec.type"))
    if value_at(current, "spec.clusterIP") and not external:
        yield from _stays(current, updated, "spec.clusterIP")


def _check_claim(current: Manifest, updated: Manifest) -> Causes:
    """Of a claim that is bound the size may grow, and who binds it names its volume once. So nobody gets past a quota
    or a LimitRange by a claim that changes."""
    old, new = current.get("spec") or {}, updated.get("spec") or {}
    is_bound = (current.get("status") or {}).get("phase") == "Bound"
    once = (field for field in ("volumeName", "storageClassName") if not old.get(field))
    free = (*(("resources",) if is_bound else ()), *once)
    if is_bound and _read_size(new) < _read_size(old):
        yield field_errors.forbidden("spec.resources.requests.storage", "field can not be less than previous value")
    if _without(old, *free) != _without(new, *free):
        yield field_errors.forbidden(
            "spec", "spec is immutable after creation except resources.requests for bound claims"
        )


def _read_size(spec: Mapping[str, Any]) -> Fraction:
    return read_quantity(((spec.get("resources") or {}).get("requests") or {}).get("storage") or 0)


def _check_quota(current: Manifest, updated: Manifest) -> Causes:
    before, after = ((each.get("spec") or {}).get("scopes") or [] for each in (current, updated))
    if set(before) != set(after):
        yield field_errors.invalid("spec.scopes", after, _STAYS)


def _check_priority(current: Manifest, updated: Manifest) -> Causes:
    if current.get("value", 0) != updated.get("value", 0):
        yield field_errors.forbidden("value", "may not be changed in an update.")
    if current.get("preemptionPolicy") not in (None, policy := updated.get("preemptionPolicy")):
        yield field_errors.invalid("preemptionPolicy", policy, _STAYS)


_CHECKS: Mapping[str, Callable[[Manifest, Manifest], Causes]] = {
    "ConfigMap": _check_data,
    "CustomResourceDefinition.apiextensions.k8s.io": _check_definition,
    "Deployment.apps": _check_deployment,
    "PersistentVolumeClaim": _check_claim,
    "Pod": _check_pod,
    "PriorityClass.scheduling.k8s.io": _check_priority,
    "ResourceQuota": _check_quota,
    f"RoleBinding.{rbac.GROUP}": _check_binding,
    f"ClusterRoleBinding.{rbac.GROUP}": _check_binding,
    "Secret": _check_secret,
    "Service": _check_service,
}
