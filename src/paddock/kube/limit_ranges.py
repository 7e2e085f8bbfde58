"""What the LimitRanges of a namespace do to a new pod or claim: defaults of its containers, and bounds. Pure.

The embedded API does it to what it stores, and who submits a job asks what would be done (`submission.room`).

Source: Kubernetes, plugin/pkg/admission/limitranger; the order of names in a message is that of the alphabet, where
Kubernetes' changes from one try to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Any

from paddock.kube.errors import Forbidden
from paddock.kube.meta import CLAIMS, PODS, Manifest, Resource, name_of
from paddock.kube.pod_amounts import combine
from paddock.kube.quantities import Quantity

CONTAINER, POD, CLAIM = TYPES = ("Container", "Pod", "PersistentVolumeClaim")
ANNOTATION = "kubernetes.io/limit-ranger"

_AMOUNT = 10
"""Steps of an amount of a container: it may be written into it, and be wrong."""
_MOST_NAMED = 100
"""Bounds that are broken which one answer names. Kubernetes names all, which are as many as a user has written."""
_Amounts = Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Limit:
    """One item of `spec.limits`."""

    type: str
    least: _Amounts = field(default_factory=dict)
    most: _Amounts = field(default_factory=dict)
    ratios: _Amounts = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    """The defaults, as they are written."""
    requests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LimitRange:
    """A stored LimitRange."""

    name: str
    limits: tuple[Limit, ...]


def read_limit_range(manifest: Manifest) -> LimitRange:
    limits = (manifest.get("spec") or {}).get("limits") or ()
    return LimitRange(name_of(manifest), tuple(map(_read_limit, limits)))


def _read_limit(item: Mapping[str, Any]) -> Limit:
    def amounts(name: str) -> _Amounts:
        return {resource: Quantity.read(text) for resource, text in (item.get(name) or {}).items()}

    return Limit(
        str(item.get("type") or ""),
        amounts("min"),
        amounts("max"),
        amounts("maxLimitRequestRatio"),
        item.get("default") or {},
        item.get("defaultRequest") or {},
    )


def count_steps(spec: Mapping[str, Any], ranges: Iterable[LimitRange]) -> int:
    """What `fill_limits` and `check_limits` cost for a pod, in steps of `kube.budget`: each container has each amount,
    and both numbers are a user's."""
    containers = sum(len(spec.get(section) or ()) for section in ("containers", "initContainers"))
    amounts = sum(
        len(named)
        for each in ranges
        for limit in each.limits
        for named in (limit.least, limit.most, limit.ratios, limit.limits, limit.requests)
    )
    return containers * amounts * _AMOUNT


def fill_limits(pod: Manifest, ranges: Iterable[LimitRange]) -> None:
    """Writes the defaults into the containers of a new pod, and tells of it in an annotation, as Kubernetes does."""
    for each in ranges:
        said: list[str] = []
        limits = {name: text for one in each.limits if one.type == CONTAINER for name, text in one.limits.items()}
        requests = {name: text for one in each.limits if one.type == CONTAINER for name, text in one.requests.items()}
        for section, kind in (("containers", "container"), ("initContainers", "init container")):
            for container in pod["spec"].get(section) or ():
                resources = container.setdefault("resources", {})
                for name, defaults, what in (("requests", requests, "request"), ("limits", limits, "limit")):
                    if added := _fill(resources, name, defaults):
                        said.append(f"{', '.join(added)} {what} for {kind} {container.get('name')}")
        if said:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(said)}"


def _fill(resources: Manifest, section: str, defaults: Mapping[str, str]) -> list[str]:
    """The names that were added."""
    added = sorted(defaults.keys() - (resources.get(section) or {}).keys())
    if added:
        resources[section] = {**(resources.get(section) or {}), **{name: defaults[name] for name in added}}
    return added


def check_limits(resource: Resource, manifest: Manifest, ranges: Iterable[LimitRange]) -> None:
    """Raises `Forbidden` of the first LimitRange whose bounds a new pod or claim breaks."""
    find = {PODS: find_broken, CLAIMS: _find_in_claim}.get(resource)
    for each in ranges if find else ():
        found = islice(find(manifest.get("spec") or {}, each.limits), _MOST_NAMED) if find else ()
        if broken := list(map(str, found)):
            name, said = name_of(manifest), broken[0] if len(broken) == 1 else f"[{', '.join(dict.fromkeys(broken))}]"
            raise Forbidden(f'{resource.plural} "{name}" is forbidden: {said}', kind=resource.plural, name=name)


def check_growth(claim: Manifest, before: Manifest, ranges: Iterable[LimitRange]) -> None:
    """As `check_limits`, of a claim that asks for another amount than before. Pods cannot."""
    asked, had = (_read(each.get("spec") or {}, "requests") for each in (claim, before))
    if asked != had:
        check_limits(CLAIMS, claim, ranges)


class Bound(Enum):
    """What a LimitRange bounds an amount by."""

    LEAST = "minimum"
    MOST = "maximum"
    RATIO = "ratio"
    """Of a limit to its request."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A bound that an amount breaks. `str` gives Kubernetes' sentence."""

    bound: Bound
    type: str
    """As of `Limit`."""
    resource: str
    allowed: Quantity
    section: str
    """`request` or `limit`: what breaks it."""
    found: Quantity | None = None
    """The amount; None where none is specified."""
    ratio: str = ""
    """What the ratio is, or why it is none."""
    container: str = ""

    def __str__(self) -> str:
        if self.bound is Bound.RATIO:
            return f"{self.resource} max limit to request ratio per {self.type} is {self.allowed}, but {self.ratio}"
        said = f"{self.bound.value} {self.resource} usage per {self.type} is {self.allowed}"
        if self.found is None:
            return f"{said}.  No {self.section} is specified"
        return f"{said}, but {self.section} is {self.found}"


def find_broken(spec: Mapping[str, Any], limits: Sequence[Limit]) -> Iterator[Broken]:
    """The bounds that a pod of this spec breaks."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for limit in limits:
        if limit.type == CONTAINER:
            for container in containers:
                for each in _find_broken(limit, _read(container, "requests"), _read(container, "limits")):
                    yield replace(each, container=str(container.get("name") or ""))
        elif limit.type == POD:
            requests = combine(spec, lambda each, _: _read(each, "requests"))
            yield from _find_broken(limit, requests, combine(spec, lambda each, _: _read(each, "limits")))


def _read(holder: Mapping[str, Any], section: str) -> _Amounts:
    amounts = (holder.get("resources") or {}).get(section) or {}
    return {name: Quantity.read(text) for name, text in amounts.items()}


def _find_in_claim(spec: Mapping[str, Any], limits: Sequence[Limit]) -> Iterator[Broken]:
    asked = _read(spec, "requests")
    for limit in limits:
        if limit.type == CLAIM:
            yield from _find_small(limit, asked, {})
            for name, most in sorted(limit.most.items()):
                if name not in asked or most < asked[name]:
                    yield Broken(Bound.MOST, limit.type, name, most, "request", asked.get(name))


def _find_broken(limit: Limit, requests: _Amounts, limits: _Amounts) -> Iterator[Broken]:
    yield from _find_small(limit, requests, limits)
    for name, most in sorted(limit.most.items()):
        if name not in limits or most < limits[name]:
            yield Broken(Bound.MOST, limit.type, name, most, "limit", limits.get(name))
        elif name in requests and most < requests[name]:
            yield Broken(Bound.MOST, limit.type, name, most, "request", requests[name])
    for name, ratio in sorted(limit.ratios.items()):
        if said := _explain_ratio(requests.get(name), limits.get(name), ratio):
            yield Broken(Bound.RATIO, limit.type, name, ratio, "limit", limits.get(name), said)


def _explain_ratio(request: Quantity | None, limit: Quantity | None, most: Quantity) -> str:
    """What is wrong with the ratio of a limit to its request; empty for a right one."""
    if not request:
        return "no request is specified or request is 0"
    if not limit:
        return "no limit is specified or limit is 0"
    found = limit.amount / request.amount
    return f"provided ratio is {float(found):.6f}" if found > most.amount else ""


def _find_small(limit: Limit, requests: _Amounts, limits: _Amounts) -> Iterator[Broken]:
    for name, least in sorted(limit.least.items()):
        if name not in requests or requests[name] < least:
            yield Broken(Bound.LEAST, limit.type, name, least, "request", requests.get(name))
        elif name in limits and limits[name] < least:
            yield Broken(Bound.LEAST, limit.type, name, least, "limit", limits[name])
