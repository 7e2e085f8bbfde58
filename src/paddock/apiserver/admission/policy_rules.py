"""Validation of the kinds by which a cluster is shared: ResourceQuota, LimitRange, PriorityClass.

Source: Kubernetes, pkg/apis/core/validation and pkg/apis/scheduling/validation. Errors of several names are in the
order of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.kube.errors import FieldCause
from paddock.kube.limit_ranges import CLAIM, POD, TYPES
from paddock.kube.priority_classes import HIGHEST, POLICIES, SYSTEM_CLASSES, SYSTEM_PREFIX
from paddock.kube.quantities import Quantity
from paddock.kube.quotas import SCOPES, is_extended
from paddock.kube.validation.field_errors import Code, FieldError, Key
from paddock.kube.validation.names import check_qualified_name

Causes = Iterator[FieldCause]
_Amounts = dict[str, Quantity]

_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
"""Their amounts are whole numbers."""
_OF_QUOTAS = frozenset(
    {
        *_OF_CONTAINERS, *_COUNTED, *(f"{part}.{name}" for part in ("requests", "limits") for name in _OF_CONTAINERS),
        "requests.storage",
    }
)  # fmt: skip
_STANDARD = _OF_QUOTAS | {"storage"}
_OF_BEST_EFFORT = frozenset({"pods"})
_OF_OTHER_SCOPES = frozenset(
    {"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
_CONFLICTING = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


# Names and amounts


def _read_amounts(holder: Mapping[str, Any], section: str, path: str, errors: list[FieldCause]) -> _Amounts:
    """The amounts that can be read; the others are `errors`."""
    found: _Amounts = {}
    for name, text in sorted((holder.get(section) or {}).items()):
        try:
            found[name] = Quantity.read(text)
        except ValueError:
            error = FieldError(Code.INVALID_QUANTITY, (path, section, Key(name)), text)
            errors.append(field_errors.explain_error(error))
    return found


def _is_huge(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def _check_name(name: str, path: str) -> Causes:
    """A resource of any object."""
    errors = list(field_errors.explain(check_qualified_name(name, (path,))))
    yield from errors
    if not errors and "/" not in name and name not in _STANDARD and not _is_huge(name):
        yield field_errors.invalid(path, name, "must be a standard resource type or fully qualified")


def _check_container_name(name: str, path: str) -> Causes:
    yield from _check_name(name, path)
    if "/" not in name and name not in _OF_CONTAINERS and not name.startswith("hugepages-"):
        yield field_errors.invalid(path, name, "must be a standard resource for containers")
    elif "/" in name and "kubernetes.io/" not in name and not is_extended(name):
        yield field_errors.invalid(path, name, "doesn't follow extended resource name standard")


# ResourceQuota


def check_quota(quota: Mapping[str, Any]) -> Causes:
    spec = quota.get("spec") or {}
    errors: list[FieldCause] = []
    hard = _read_amounts(spec, "hard", "spec", errors)
    yield from errors
    for name, amount in hard.items():
        path = f"spec.hard[{name}]"
        yield from _check_name(name, path)
        if "/" not in name and name not in _OF_QUOTAS and not _is_huge(name):
            yield field_errors.invalid(path, name, "must be a standard resource for quota")
        if amount.amount < 0:
            yield field_errors.invalid(path, str(amount), "must be greater than or equal to 0")
        if (name in _COUNTED or is_extended(name)) and amount.amount.denominator != 1:
            yield field_errors.invalid(path, str(amount), "must be an integer")
    yield from _check_scopes(spec, hard)
    yield from _check_expressions(spec, hard)


def _check_scopes(spec: Mapping[str, Any], hard: _Amounts) -> Causes:
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in SCOPES:
            yield field_errors.invalid("spec.scopes", scopes, "unsupported scope")
        yield from (
            field_errors.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
            for name in hard if not _may_select(scope, name)
        )  # fmt: skip
    if any(pair <= set(scopes) for pair in _CONFLICTING):
        yield field_errors.invalid("spec.scopes", scopes, "conflicting scopes")


def _may_select(scope: str, name: str) -> bool:
    """Whether a scope can be of a quota with this resource: it selects pods alone."""
    if scope not in SCOPES or (name not in _OF_QUOTAS and not _is_huge(name)):
        return True
    return name in (_OF_BEST_EFFORT if scope == "BestEffort" else _OF_OTHER_SCOPES)


def _check_expressions(spec: Mapping[str, Any], hard: _Amounts) -> Causes:
    selector, path = spec.get("scopeSelector") or {}, "spec.scopeSelector.matchExpressions"
    expressions = selector.get("matchExpressions") or ()
    for one in expressions:
        scope, operator, values = one["scopeName"], one["operator"], one.get("values") or []
        if scope not in SCOPES:
            yield field_errors.invalid(f"{path}.scopeName", scope, "unsupported scope")
        yield from (
            field_errors.invalid(path, selector, "unsupported scope applied to resource")
            for name in hard if not _may_select(scope, name)
        )  # fmt: skip
        if scope in SCOPES and scope != "PriorityClass" and operator != "Exists":
            yield field_errors.invalid(
                f"{path}.operator", operator,
                "must be 'Exist' only operator when scope is any of ResourceQuotaScopeTerminating,"
                " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or"
                " ResourceQuotaScopeCrossNamespacePodAffinity",
            )  # fmt: skip
        if operator in ("In", "NotIn"):
            if not values:
                yield field_errors.required(
                    f"{path}.values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                )
        elif operator not in ("Exists", "DoesNotExist"):
            yield field_errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
        elif values:
            yield field_errors.invalid(
                f"{path}.values", values,
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )  # fmt: skip
    if any(pair <= {one["scopeName"] for one in expressions} for pair in _CONFLICTING):
        yield field_errors.invalid(path, spec.get("scopes") or [], "conflicting scopes")


# LimitRange


def check_limit_range(limit_range: Mapping[str, Any]) -> Causes:
    seen: set[str] = set()
    for index, item in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        kind, path = item["type"], f"spec.limits[{index}]"
        yield from _check_type(kind, f"{path}.type")
        if kind in seen:
            yield field_errors.duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _check_limit(kind, item, path)


def _check_type(kind: str, path: str) -> Causes:
    errors = list(field_errors.explain(check_qualified_name(kind, (path,))))
    yield from errors
    if not errors and "/" not in kind and kind not in TYPES:
        yield field_errors.invalid(path, kind, "must be a standard limit type or fully qualified")


def _check_limit(kind: str, item: Mapping[str, Any], path: str) -> Causes:
    errors: list[FieldCause] = []
    sections = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    amounts = {section: _read_amounts(item, section, path, errors) for section in sections}
    yield from errors
    for section in ("default", "defaultRequest") if kind == POD else ():
        if amounts.pop(section):
            yield field_errors.forbidden(f"{path}.{section}", "may not be specified when `type` is 'Pod'")
    check = _check_name if kind not in TYPES or kind == CLAIM else _check_container_name
    for section, named in amounts.items():
        for name in named:
            yield from check(name, f"{path}.{section}[{name}]")
    if kind == CLAIM and not any("storage" in amounts[each] for each in ("min", "max")):
        said = "either minimum or maximum storage value is required, but neither was provided"
        yield field_errors.required(f"{path}.limits", said)
    for name in sorted({name for named in amounts.values() for name in named}):
        yield from _check_order(name, {each: named[name] for each, named in amounts.items() if name in named}, path)


_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest",
     "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest",
     "default request value {} is greater than max value {}"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest",
     "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip
"""What may not be more than what: the smaller, the larger, the field that is named, the one that is shown."""


def _check_order(name: str, amounts: _Amounts, path: str) -> Causes:
    for smaller, larger, field, shown, said in _ORDER:
        if smaller in amounts and larger in amounts and amounts[larger] < amounts[smaller]:
            text = said.format(amounts[smaller], amounts[larger])
            yield field_errors.invalid(f"{path}.{field}[{name}]", str(amounts[shown]), text)
    ratio, least, most = (amounts.get(each) for each in ("maxLimitRequestRatio", "min", "max"))
    if ratio is not None and ratio.amount < 1:
        where = f"{path}.maxLimitRequestRatio[{name}]"
        yield field_errors.invalid(where, str(ratio), f"ratio {ratio} is less than 1")
    if ratio is not None and least and most and ratio.amount > (found := most.amount / least.amount):
        said = f"ratio {ratio} is greater than max/min = {float(found):.6f}"
        yield field_errors.invalid(f"{path}.maxLimitRequestRatio[{name}]", str(ratio), said)
    limit, request = amounts.get("default"), amounts.get("defaultRequest")
    fixed = _is_huge(name) or is_extended(name)
    if fixed and limit is not None and request is not None and limit.amount != request.amount:
        said = f"default value {limit} must equal to defaultRequest value {request} in {name}"
        yield field_errors.invalid(f"{path}.defaultRequest[{name}]", str(request), said)


# PriorityClass


def check_priority_class(priority: Mapping[str, Any]) -> Causes:
    name, value = (priority.get("metadata") or {}).get("name") or "", priority.get("value") or 0
    if name.startswith(SYSTEM_PREFIX):
        if why := _explain_unknown(name, value, bool(priority.get("globalDefault"))):
            said = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"
            yield field_errors.forbidden("metadata.name", said)
    elif value > HIGHEST:
        yield field_errors.forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST}")
    if not priority.get("preemptionPolicy"):
        yield field_errors.required("preemptionPolicy")
    elif priority["preemptionPolicy"] not in POLICIES:
        yield field_errors.not_supported("preemptionPolicy", priority["preemptionPolicy"], POLICIES)


def _explain_unknown(name: str, value: int, is_default: bool) -> str:
    """Why this is none of the classes that every cluster has; empty for one of them."""
    known = next((each for each in SYSTEM_CLASSES if each.name == name), None)
    if known is None:
        return f"{name} is not a known system priority class"
    if known.value != value:
        return f"value of {name} PriorityClass must be {known.value}"
    return f"globalDefault of {name} PriorityClass must be {str(known.is_default).lower()}" if is_default else ""


CHECKS = {
    ("", "ResourceQuota"): check_quota,
    ("", "LimitRange"): check_limit_range,
    ("scheduling.k8s.io", "PriorityClass"): check_priority_class,
}
