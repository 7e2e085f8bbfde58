"""What a pod occupies of its node, by resource. Pure.

Amounts follow kube-scheduler: for each resource the sum over containers or the largest init container, whichever is
more; without a request the limit counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, Self, TypeVar

import msgspec

from paddock.kube.quantities import read_quantity

Amounts = Mapping[str, Fraction]


_LONGEST_REMEMBERED = 2_048
"""Bytes of JSON."""


class _Amount(Protocol):
    """What can be added up and compared: a number, a `kube.quantities.Quantity`."""

    def __add__(self, other: Self, /) -> Self: ...
    def __lt__(self, other: Self, /) -> bool: ...


T = TypeVar("T", bound=_Amount)


def read_pod_amounts(spec: Mapping[str, Any]) -> Amounts:
    """The amounts that a pod of this spec occupies, by resource. `ValueError` names the field and its value.

    Pods that ask for the same have the same mapping, which nobody changes.
    """
    asked = {name: spec[name] for name in ("containers", "initContainers", "overhead") if spec.get(name)}
    for name in asked.keys() - {"overhead"}:
        asked[name] = [{key: one[key] for key in ("resources", "restartPolicy") if key in one} for one in asked[name]]
    try:
        text = msgspec.json.encode(asked)
    except (OverflowError, TypeError, ValueError):  # of a file, whose values need not be JSON
        return _read_amounts(asked)
    return _read_text(text) if len(text) <= _LONGEST_REMEMBERED else _read_amounts(asked)


@lru_cache(maxsize=1024)
def _read_text(text: bytes) -> Amounts:
    """Cached: the pods of a job all ask for the same."""
    return _read_amounts(msgspec.json.decode(text))


def _read_amounts(spec: Mapping[str, Any]) -> Amounts:
    total = {
        "pods": Fraction(1),
        **combine(spec, _container_amounts),
    }
    for name, text in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + _amount(text, "spec.overhead")
    return {name: amount for name, amount in total.items() if amount > 0}


def combine(spec: Mapping[str, Any], read: Callable[[Mapping[str, Any], str], Mapping[str, T]]) -> dict[str, T]:
    """What the containers of a pod need together, by resource, of what `read` gives of each (it is told the path of its
    resources): the sum, or more for an init container that needs more before they start. Without overhead.

    An init container with restartPolicy Always is a sidecar: it is added to the containers.
    Source: k8s.io/component-helpers, resource.PodRequests.
    """
    running: dict[str, T] = {}
    peak: dict[str, T] = {}
    for index, container in enumerate(spec.get("initContainers") or ()):
        wanted = add_amounts(running, read(container, f"spec.initContainers[{index}].resources"))
        if container.get("restartPolicy") == "Always":
            running = wanted
        peak = _largest(peak, wanted)
    for index, container in enumerate(spec.get("containers") or ()):
        running = add_amounts(running, read(container, f"spec.containers[{index}].resources"))
    return _largest(peak, running)


def _container_amounts(container: Mapping[str, Any], path: str) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: _amount(text, path) for name, text in wanted.items()}


def _amount(text: str | int | float, path: str) -> Fraction:
    try:
        return read_quantity(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def add_amounts(left: Mapping[str, T], right: Mapping[str, T]) -> dict[str, T]:
    return {**left, **{name: left[name] + amount if name in left else amount for name, amount in right.items()}}


def _largest(left: Mapping[str, T], right: Mapping[str, T]) -> dict[str, T]:
    return {
        **left,
        **{name: left[name] if name in left and amount < left[name] else amount for name, amount in right.items()},
    }
