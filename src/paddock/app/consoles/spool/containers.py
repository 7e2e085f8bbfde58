"""What a pod's status says of the container that is copied. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.kube.meta import Manifest, is_deleting

_OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a pod's status says of one container."""

    started: bool = False
    """It has a log."""
    ended: bool = False
    """It prints nothing more."""
    restarts: int = 0
    """How often it was started again."""


def read_container(pod: Manifest, container: str) -> Seen:
    status: Mapping[str, Any] = pod.get("status") or {}
    found: Mapping[str, Any] = next(
        (each for each in status.get("containerStatuses") or () if each.get("name") == container), {}
    )
    state, restarts = found.get("state") or {}, int(found.get("restartCount") or 0)
    never = (pod.get("spec") or {}).get("restartPolicy") == "Never"
    over = status.get("phase") in _OVER
    started = over or bool(state.get("running") or state.get("terminated") or restarts)
    return Seen(started, over or (never and bool(state.get("terminated"))), restarts)


def is_ending(pod: Manifest) -> bool:
    """Whether its log is to be read now, as it will go with the pod."""
    return is_deleting(pod) or (pod.get("status") or {}).get("phase") in _OVER
