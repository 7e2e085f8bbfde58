"""Kubernetes' side-cars: init containers with restartPolicy Always, which run beside the containers. Pure.

Source: KEP-753 (Kubernetes 1.29). They start in order among the init containers, each before the next once it has
started; they restart whatever the pod's restartPolicy; the pod's end does not wait for them, and no exit of theirs
decides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALWAYS = "Always"


def is_side_car(container: Mapping[str, Any]) -> bool:
    """Of an entry of `initContainers`; of no other one, as the API refuses the field there."""
    return container.get("restartPolicy") == ALWAYS


def list_side_cars(spec: Mapping[str, Any]) -> list[str]:
    """The names of a pod's side-cars, in the order in which they start."""
    return [str(each.get("name")) for each in spec.get("initContainers") or () if is_side_car(each)]
