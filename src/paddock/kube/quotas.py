"""What objects count towards the ResourceQuotas of their namespace, and when a new one is too many. Pure.

Source: Kubernetes, pkg/quota/v1 (the evaluators of pods, claims, Services and of counts) and
plugin/pkg/admission/resourcequota. As there, a pod counts until it has ended; `count/pods` counts it until it is gone.
The embedded API keeps `status.used` and refuses by them (`apiserver.objects.quotas`); the operator looks
whether a whole gang has room (`explain_gang`), and reads what a server says of one that has none (`read_exceeded`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.kube.meta import CLAIMS, PODS, SERVICES, Manifest, Resource, name_of
from paddock.kube.pod_amounts import combine
from paddock.kube.quantities import Quantity

SCOPES = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
Usage = Mapping[str, Quantity]
"""By the name of a quota's resource: `requests.cpu`, `count/configmaps`."""

_ONE = Quantity(Fraction(1))
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES = frozenset(
    {"pods", "count/pods", *_COMPUTE, *(f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE)}
)
_SPECIFIED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
"""Each container must say what it takes of these, where a quota has them."""
_BY_NAME = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
"""Kinds of the core group that also count under their own name."""
_OF_CLASS = ".storageclass.storage.k8s.io/"


@dataclass(frozen=True, slots=True)
class Selector:
    """Of pods: a scope, or an expression of the scopeSelector."""

    scope: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota as it is stored."""

    name: str
    hard: Usage = field(default_factory=dict)
    used: Usage = field(default_factory=dict)
    selectors: tuple[Selector, ...] = ()

    def counts(self, resource: Resource, manifest: Manifest) -> bool:
        """Whether it counts an object at all."""
        if not any(_tracks(resource, name) for name in self.hard):
            return False
        if not self.selectors:
            return True
        return resource == PODS and all(_selects(each, manifest) for each in self.selectors)

    def tracks(self, resource: Resource) -> bool:
        """Whether it counts objects of this kind."""
        return any(_tracks(resource, name) for name in self.hard)

    def measure(self, resource: Resource, manifest: Manifest) -> dict[str, Quantity]:
        """What an object counts, of what is limited."""
        if not self.counts(resource, manifest):
            return {}
        return {name: amount for name, amount in measure(resource, manifest).items() if name in self.hard and amount}


def read_quota(manifest: Manifest) -> Quota:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    expressions = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return Quota(
        name_of(manifest),
        {name: Quantity.read(text) for name, text in (spec.get("hard") or {}).items()},
        {name: Quantity.read(text) for name, text in (status.get("used") or {}).items()},
        (
            *(Selector(scope) for scope in spec.get("scopes") or ()),
            *(Selector(one["scopeName"], one["operator"], tuple(one.get("values") or ())) for one in expressions),
        ),
    )


def _selects(selector: Selector, pod: Manifest) -> bool:
    spec = pod.get("spec") or {}
    match selector.scope:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return (pod.get("status") or {}).get("qosClass") == "BestEffort"
        case "NotBestEffort":
            return (pod.get("status") or {}).get("qosClass") != "BestEffort"
        case "PriorityClass":
            return _selects_class(selector, spec.get("priorityClassName") or "")
        case _:
            return bool(list(_find_foreign_terms(spec)))


def _selects_class(selector: Selector, name: str) -> bool:
    match selector.operator:
        case "In":
            return name in selector.values
        case "NotIn":
            return name not in selector.values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _find_foreign_terms(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The terms of a pod's affinity that look into other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms = [each.get("podAffinityTerm") or {} for each in preferred]
        for term in (*(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()), *terms):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                yield term


def name_count(resource: Resource) -> str:
    """`count/pods`, `count/paddlejobs.batch.paddlepaddle.org`."""
    return f"count/{resource.qualified}"


def is_extended(name: str) -> bool:
    """Whether a resource of pods is a device, and not Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _tracks(resource: Resource, name: str) -> bool:
    """Whether objects of a kind count towards the limit of this name."""
    if name == name_count(resource):
        return True
    if resource == PODS:
        huge = name.removeprefix("requests.").startswith("hugepages-")
        return name in _POD_NAMES or huge or (name.startswith("requests.") and is_extended(name[len("requests.") :]))
    if resource == CLAIMS:
        plain = name.rpartition(_OF_CLASS)[2]
        return plain in ("persistentvolumeclaims", "requests.storage")
    if resource == SERVICES:
        return name in ("services", "services.loadbalancers", "services.nodeports")
    return resource.group == "" and resource.plural in _BY_NAME and name == resource.plural


def measure(resource: Resource, manifest: Manifest) -> dict[str, Quantity]:
    """All that an object counts, whatever is limited."""
    counted = {name_count(resource): _ONE}
    if resource.group == "" and resource.plural in _BY_NAME:
        counted[resource.plural] = _ONE
    find = _MEASURES.get(resource)
    return counted if find is None else counted | find(manifest)


def _measure_pod(pod: Manifest) -> dict[str, Quantity]:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    spec = pod.get("spec") or {}
    # Without a request the limit is one: the API writes it so into the pods that it stores.
    requests = combine(spec, lambda each, _: {**_read_amounts(each, "limits"), **_read_amounts(each, "requests")})
    limits = combine(spec, lambda each, _: _read_amounts(each, "limits"))
    for name, text in (spec.get("overhead") or {}).items():
        requests[name] = requests.get(name, Quantity()) + Quantity.read(text)
    return _name_amounts(requests, limits)


def _read_amounts(holder: Mapping[str, Any], section: str) -> dict[str, Quantity]:
    amounts = (holder.get("resources") or {}).get(section) or {}
    return {name: Quantity.read(text) for name, text in amounts.items()}


def _name_amounts(requests: Usage, limits: Usage) -> dict[str, Quantity]:
    """What a pod or a container takes, by the names that a quota has for it."""
    named = {"pods": _ONE}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            named[name] = named[f"requests.{name}"] = amount
        elif is_extended(name):
            named[f"requests.{name}"] = amount
    return named | {f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE}


def _measure_claim(claim: Manifest) -> dict[str, Quantity]:
    spec = claim.get("spec") or {}
    counted = {"persistentvolumeclaims": _ONE}
    if (asked := _read_amounts(spec, "requests").get("storage")) is not None:
        counted["requests.storage"] = asked
    kind = spec.get("storageClassName")
    return counted | ({f"{kind}{_OF_CLASS}{name}": amount for name, amount in counted.items()} if kind else {})


def _measure_service(service: Manifest) -> dict[str, Quantity]:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), Quantity(Fraction(len(spec.get("ports") or ())))
    return {
        "services": _ONE,
        "services.loadbalancers": _ONE if kind == "LoadBalancer" else Quantity(),
        "services.nodeports": ports if kind in ("LoadBalancer", "NodePort") else Quantity(),
    }


_MEASURES: Mapping[Resource, Callable[[Manifest], dict[str, Quantity]]] = {
    PODS: _measure_pod,
    CLAIMS: _measure_claim,
    SERVICES: _measure_service,
}


def explain_refused(
    resource: Resource, manifest: Manifest, previous: Manifest | None, quotas: Iterable[Quota]
) -> str | None:
    """Why quotas refuse an object, in Kubernetes' words; None if they take it. `previous`: what it was, if it is not
    new; of that only Services and claims can come to count more."""
    if previous is not None and resource not in (SERVICES, CLAIMS):
        return None
    counting = [quota for quota in quotas if quota.counts(resource, manifest)]
    for quota in counting:
        if resource == PODS and (missing := _explain_unspecified(manifest, quota)):
            return f"failed quota: {quota.name}: must specify {missing}"
    for quota in counting:
        if said := _explain_exceeded(resource, manifest, previous, quota):
            return said
    return None


def _explain_unspecified(pod: Manifest, quota: Quota) -> str:
    """`limits.cpu for: trainer; memory for: main,trainer`"""
    spec, wanted = pod.get("spec") or {}, _SPECIFIED & quota.hard.keys()
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())) if wanted else ():
        named = _name_amounts(_read_amounts(container, "requests"), _read_amounts(container, "limits"))
        for name in wanted - named.keys():
            missing.setdefault(name, set()).add(str(container.get("name")))
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _explain_exceeded(resource: Resource, manifest: Manifest, previous: Manifest | None, quota: Quota) -> str | None:
    before = quota.measure(resource, previous) if previous is not None else {}
    asked = {
        name: more
        for name, amount in quota.measure(resource, manifest).items()
        if (more := amount - before.get(name, Quantity())).amount > 0
    }
    return _explain_more(quota, asked)


def _explain_more(quota: Quota, asked: Usage) -> str | None:
    """Why the quota has no room for this much more; None if it has."""
    exceeded = [name for name, amount in asked.items() if quota.hard[name] < quota.used.get(name, Quantity()) + amount]
    if not exceeded:
        return None
    used = {name: quota.used.get(name, Quantity()) for name in exceeded}
    return (
        f"exceeded quota: {quota.name}, requested: {_print(asked, exceeded)}, used: {_print(used, exceeded)},"
        f" limited: {_print(quota.hard, exceeded)}"
    )


def explain_gang(pods: Iterable[tuple[Manifest, int]], quotas: Iterable[Quota]) -> str | None:
    """Why so many new pods of each kind have no room together, in words that `read_exceeded` reads; None if they have,
    and where it is not known: the API may give a pod a priority class and requests. All is known of a pod as the API
    stores it, which has a qosClass."""
    kinds = list(pods)
    count = sum(times for _, times in kinds)
    for quota in quotas:
        asked: dict[str, Quantity] = {}
        for pod, times in kinds if _is_sure(quota, kinds) else ():
            asked = move(asked, {}, {name: each * times for name, each in quota.measure(PODS, pod).items()})
        if said := _explain_more(quota, asked):
            return f"{count} pods: {said}"
    return None


def _is_sure(quota: Quota, pods: Iterable[tuple[Manifest, int]]) -> bool:
    scopes = {each.scope for each in quota.selectors}
    if all((pod.get("status") or {}).get("qosClass") for pod, _ in pods):
        return True
    unnamed = any(not (pod.get("spec") or {}).get("priorityClassName") for pod, _ in pods)
    return not scopes & {"BestEffort", "NotBestEffort"} and not (unnamed and "PriorityClass" in scopes)


@dataclass(frozen=True, slots=True)
class Exceeded:
    """What a quota has no room for: amounts by resource, as they are written."""

    quota: str
    pods: int
    """For how many of them."""
    asked: Mapping[str, str]
    used: Mapping[str, str]
    hard: Mapping[str, str]

    @property
    def fits(self) -> int:
        """How many of the pods would have room now, if they are alike."""
        room = [
            (Quantity.read(self.hard[name]) - Quantity.read(self.used.get(name, "0"))).amount * self.pods
            // Quantity.read(asked).amount
            for name, asked in self.asked.items()
        ]  # fmt: skip
        return max(0, min(self.pods - 1, *room)) if room else 0

    @property
    def never(self) -> bool:
        """Whether they have none even when nothing else is there."""
        return any(Quantity.read(self.hard[name]) < Quantity.read(asked) for name, asked in self.asked.items())


_EXCEEDED = re.compile(
    r"(?:\b(?P<pods>\d+) pods: )?exceeded quota: (?P<quota>[^\s,]+), requested: (?P<asked>[^\s]+), used:"
    r" (?P<used>[^\s]*), limited: (?P<hard>[^\s]+)"
)


def read_exceeded(message: str) -> Exceeded | None:
    """What the answer of an API server tells of a quota; None if it is about something else."""
    found = _EXCEEDED.search(message)
    if found is None:
        return None
    try:
        asked, used, hard = (_read_pairs(found[part]) for part in ("asked", "used", "hard"))
        exceeded = Exceeded(found["quota"], int(found["pods"] or 1), asked, used, hard)
        return exceeded if asked.keys() <= hard.keys() and exceeded.fits >= 0 else None
    except (ValueError, ZeroDivisionError):
        return None


_UNSPECIFIED = re.compile(r"failed quota: [^\s:]+: must specify (?P<missing>.+)")


def read_unspecified(message: str) -> dict[str, tuple[str, ...]]:
    """Of an answer that containers must say what they take: those that lack it, by the field of their resources
    (`limits.cpu`, `requests.memory`). An older Kubernetes names no containers. Empty for any other answer."""
    if (found := _UNSPECIFIED.search(message)) is None:
        return {}
    fields: dict[str, tuple[str, ...]] = {}
    for part in found["missing"].split(";"):
        names, _, containers = part.strip().partition(" for: ")
        for name in names.split(","):
            field_name = name if "." in name else f"requests.{name}"  # `cpu` in a quota is short for this
            fields[field_name] = tuple(filter(None, containers.split(",")))
    return fields


def _read_pairs(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.strip(",").split(",") if pair)
    return {name: amount for name, _, amount in pairs}


def _print(amounts: Usage, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))


def build_status(quota: Quota, used: Usage) -> Manifest:
    """The status that says so; what nothing counts is 0."""
    return {
        "hard": {name: str(amount) for name, amount in quota.hard.items()},
        "used": {name: str(used.get(name, Quantity())) for name in quota.hard},
    }


def move(used: Usage, before: Usage, after: Usage) -> dict[str, Quantity]:
    """What is used when an object that counted `before` counts `after`. Never below nothing."""
    moved = dict(used)
    for name in before.keys() | after.keys():
        amount = moved.get(name, Quantity()) + after.get(name, Quantity()) - before.get(name, Quantity())
        moved[name] = amount if amount.amount > 0 else Quantity()
    return moved
