"""How much of their nodes the pods of jobs have held, and for how long: cores, bytes and accelerators, in seconds.

A pod holds what it asks for (`kube.pod_amounts`, as kube-scheduler counts) from when it has a node until it has ended
or is gone. What all pods of a namespace hold together is a rate that changes only when one of them begins or ends, so
an event costs a few additions, and a scrape as many as there are series, however many pods there are.

Each operator counts what it saw itself while it led the namespace: the time between two moments counts if both are in
one term of leadership (`operator.election`), in which nobody else can have counted it. So no second is counted twice,
whatever restarts; a second in which nobody led is counted by nobody. A sum over all operators is right, as of every
counter of Prometheus. Pure but for the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.kube.accelerators import is_counted
from paddock.kube.meta import Key
from paddock.kube.pod_amounts import Amounts, read_pod_amounts

MOST_RESOURCES = 16
"""Different resources that are counted in the life of a process."""
AT_ONCE = 100
"""Namespaces in one step of a scrape: some milliseconds."""

Count = Callable[[str, str, str, float], None]
"""(namespace, kind, resource, what was held times seconds)"""


def trim_amounts(spec: Mapping[str, Any]) -> dict[str, float]:
    """What is counted of a pod's spec: cpu (cores), memory (bytes), accelerators, and the pod as one of `pods`. Empty
    for one whose amounts cannot be read."""
    try:
        amounts = read_pod_amounts(spec)
    except ValueError:
        return {}
    return {name: float(amount) for name, amount in amounts.items() if is_counted(name)}


def read_held(pod: Mapping[str, Any]) -> Amounts | None:
    """What a pod holds of its node, of one whose spec was trimmed to `resources.requests`, as `trim_amounts` gives
    them; None without a node, and once it has ended."""
    spec, phase = pod.get("spec") or {}, (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return None
    requests = (spec.get("resources") or {}).get("requests") or {}
    return {name: Fraction(amount) for name, amount in requests.items()}


@dataclass(slots=True)
class _Namespace:
    """What pods of one namespace hold now, of each kind of job, and since when that is not counted yet."""

    rates: dict[tuple[str, str], Fraction] = field(default_factory=dict)
    """By (kind, resource)."""
    pods: int = 0
    counted: float = 0.0
    term: object = None


class ResourceTime:
    """`term`: the term in which this process leads a namespace; None where it does not lead. It is compared, and has no
    other meaning. `clock`: seconds that only grow."""

    def __init__(self, clock: Callable[[], float], term: Callable[[str], object | None], count: Count) -> None:
        self._clock, self._term, self._count = clock, term, count
        self._pods: dict[Key, tuple[str, Amounts]] = {}
        self._namespaces: dict[str, _Namespace] = {}
        self._known: set[str] = set()

    def note(self, pod: Key, kind: str, amounts: Amounts | None) -> None:
        """What this pod of a job of `kind` holds from now on; None: nothing, as it has ended, is gone, or has no
        node."""
        held = (kind, self._choose(amounts)) if amounts else None
        before = self._pods.get(pod)
        if held == before:
            return
        space = self._namespaces.setdefault(pod.namespace, _Namespace(counted=self._clock()))
        self._advance(pod.namespace, space)
        if before is not None:
            del self._pods[pod]
            _add(space, before, -1)
        if held is not None:
            self._pods[pod] = held
            _add(space, held, 1)
            for resource in held[1]:
                self._count(pod.namespace, kind, resource, 0.0)  # a series begins at 0, or its first step is not seen
        if not space.pods:
            del self._namespaces[pod.namespace]

    def advance(self) -> Iterator[None]:
        """Counts up to now, `AT_ONCE` namespaces in each step: with thousands of them it takes a good part of a second.
        Between two steps pods may be noted."""
        for number, (namespace, space) in enumerate(tuple(self._namespaces.items()), 1):
            if self._namespaces.get(namespace) is space:
                self._advance(namespace, space)
            if number % AT_ONCE == 0:
                yield

    def _choose(self, amounts: Amounts) -> Amounts:
        chosen = {}
        for name, amount in amounts.items():
            if name in self._known or len(self._known) < MOST_RESOURCES:
                self._known.add(name)
                chosen[name] = amount
        return chosen

    def _advance(self, namespace: str, space: _Namespace) -> None:
        now, term = self._clock(), self._term(namespace)
        if term is not None and term == space.term:
            for (kind, resource), rate in space.rates.items():
                self._count(namespace, kind, resource, float(rate) * (now - space.counted))
        space.counted, space.term = now, term


def _add(space: _Namespace, held: tuple[str, Amounts], sign: int) -> None:
    kind, amounts = held
    space.pods += sign
    for resource, amount in amounts.items():
        rate = space.rates.get((kind, resource), Fraction(0)) + sign * amount
        if rate:
            space.rates[kind, resource] = rate
        else:
            space.rates.pop((kind, resource), None)
