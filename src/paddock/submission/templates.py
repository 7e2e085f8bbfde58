"""The pod templates of a manifest, in whatever fields its API group has them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def change_templates(value: Any, change: Change) -> Any:
    """The manifest with each pod template changed: they are found by their shape, as their place depends on the API
    group. The argument is not changed."""
    if not isinstance(value, Mapping):
        return value
    if is_template(value):
        return change(value)
    return {key: change_templates(item, change) for key, item in value.items()}


def is_template(value: Mapping[str, Any]) -> bool:
    spec = value.get("spec")
    return isinstance(spec, Mapping) and isinstance(spec.get("containers"), list)
