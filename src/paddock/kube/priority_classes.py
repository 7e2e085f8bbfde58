"""What a PriorityClass gives a pod: its priority, and whether it may end others. Pure.

Source: kubernetes.io, "Pod Priority and Preemption"; plugin/pkg/admission/priority. A pod's `spec.priority` is written
when it is created and decides from then on; its class is asked again only of a pod that was never stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paddock.kube.meta import Manifest, name_of

PREEMPTS, PATIENT = "PreemptLowerPriority", "Never"
POLICIES = (PREEMPTS, PATIENT)
HIGHEST = 1_000_000_000
"""Of a class that people make."""
SYSTEM_PREFIX = "system-"


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A PriorityClass, as far as it decides."""

    name: str = ""
    value: int = 0
    policy: str = PREEMPTS
    """One of `POLICIES`."""
    is_default: bool = False
    """Of all pods that name no class."""


NONE = PriorityClass()
"""What a pod has that names no class, where no class is the default."""
SYSTEM_CLASSES = (
    PriorityClass("system-cluster-critical", 2_000_000_000),
    PriorityClass("system-node-critical", 2_000_001_000),
)
"""What every cluster has."""


def read_class(manifest: Manifest) -> PriorityClass:
    return PriorityClass(
        name_of(manifest),
        int(manifest.get("value") or 0),
        str(manifest.get("preemptionPolicy") or PREEMPTS),
        bool(manifest.get("globalDefault")),
    )


def find_default(classes: Iterable[PriorityClass]) -> PriorityClass:
    """The class of pods that name none: of several the lowest, as in Kubernetes; `NONE` without one."""
    return min((each for each in classes if each.is_default), key=lambda each: (each.value, each.name), default=NONE)
