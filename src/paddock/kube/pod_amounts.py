"""What a pod occupies of its node, by resource. Pure.

Amounts follow kube-scheduler: for each resource the sum over containers or the largest init container, whichever is
more; without a request the limit counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec

from paddock.kube.quantities import read_quantity

Amounts = Mapping[str, Fraction]


_LONGEST_REMEMBERED = 2_048
"""Bytes of JSON."""


def read_pod_amounts(spec: Mapping[str, Any]) -> Amounts:
    """The amounts that a pod of this spec occupies, by resource. `ValueError` names the field and its value.

    An init container with restartPolicy Always is a sidecar: it is added to the containers. `overhead` is added too.
    Source: k8s.io/component-helpers, resource.PodRequests. Pods that ask for the same have the same mapping, which
    nobody changes.
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
    running: dict[str, Fraction] = {"pods": Fraction(1)}
    peak: dict[str, Fraction] = {}
    for index, container in enumerate(spec.get("initContainers") or ()):
        wanted = _container_amounts(container, f"spec.initContainers[{index}].resources")
        if container.get("restartPolicy") == "Always":
            running = add_amounts(running, wanted)
            wanted = running
        else:
            wanted = add_amounts(running, wanted)
        peak = _largest(peak, wanted)
    for index, container in enumerate(spec.get("containers") or ()):
        running = add_amounts(running, _container_amounts(container, f"spec.containers[{index}].resources"))
    overhead = {name: _amount(text, "spec.overhead") for name, text in (spec.get("overhead") or {}).items()}
    total = add_amounts(_largest(peak, running), overhead)
    return {name: amount for name, amount in total.items() if amount > 0}


def _container_amounts(container: Mapping[str, Any], path: str) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: _amount(text, path) for name, text in wanted.items()}


def _amount(text: str | int | float, path: str) -> Fraction:
    try:
        return _quantity(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@lru_cache(maxsize=1024)
def _quantity(text: str | int | float) -> Fraction:
    """Cached: pods have few different amounts."""
    return read_quantity(text)


def add_amounts(left: Amounts, right: Amounts) -> dict[str, Fraction]:
    return {**left, **{name: left.get(name, Fraction(0)) + amount for name, amount in right.items()}}


def _largest(left: Amounts, right: Amounts) -> dict[str, Fraction]:
    return {**left, **{name: max(left.get(name, Fraction(0)), amount) for name, amount in right.items()}}
