"""Helpers for the cells of `kubectl get`: ages, labels, nested objects and conditions.

A printer (`printers`, `pods`) never fails on an object, whichever fields are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import metadata
from paddock.kube.times import Moment, format_duration, read_time

Object = Mapping[str, Any]
Cells = list[Any]

NONE, UNKNOWN = "<none>", "<unknown>"


def format_age(text: str | None, now: Moment) -> str:
    moment = read_time(text)
    return UNKNOWN if moment is None else format_duration(now - moment)


def age(obj: Object, now: Moment) -> str:
    return format_age(metadata(obj).get("creationTimestamp"), now)


def part(obj: Object, *names: str) -> Mapping[str, Any]:
    """A nested object; empty if it is missing."""
    for name in names:
        obj = obj.get(name) or {}
    return obj


def condition(obj: Object, kind: str) -> Mapping[str, Any]:
    conditions = part(obj, "status").get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def print_labels(labels: Mapping[str, Any] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE
