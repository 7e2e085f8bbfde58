"""The priority of a new pod, by its PriorityClass. Pure.

Source: Kubernetes, plugin/pkg/admission/priority, and the strategy of scheduling/priorityclass.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddock.kube.errors import Forbidden
from paddock.kube.meta import PRIORITY_CLASSES, Manifest, name_of
from paddock.kube.priority_classes import SYSTEM_CLASSES, PriorityClass, find_default


def set_priority(pod: Manifest, classes: Mapping[str, PriorityClass]) -> None:
    """Writes the priority and the preemption policy of a new pod into its spec. Raises `Forbidden` of a number that is
    not the class's. `classes`: by name. A class that there is not counts as none (`explain_unknown` says so), where
    Kubernetes refuses the pod: manifests of a cluster run on a laptop that has none of its classes."""
    spec, name = pod["spec"], pod["spec"].get("priorityClassName") or ""
    found = classes.get(name) or find_default(classes.values())
    if spec.get("priority") not in (None, found.value):
        raise _refuse(
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission"
            f" controller computed {found.value} from the given PriorityClass name",
        )
    if spec.get("preemptionPolicy") not in (None, "", found.policy):
        raise _refuse(
            pod,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec;"
            f" priority admission controller computed {found.policy} from the given PriorityClass name",
        )
    if found.name and not name:
        spec["priorityClassName"] = found.name
    spec["priority"], spec["preemptionPolicy"] = found.value, found.policy


def explain_unknown(pod: Manifest, classes: Mapping[str, PriorityClass]) -> tuple[str, ...]:
    """The warning about a pod of a class that there is not."""
    name = (pod.get("spec") or {}).get("priorityClassName")
    if not name or name in classes:
        return ()
    return (
        f"spec.priorityClassName: no PriorityClass with name {name} was found, and the pod has the priority"
        f" {pod['spec'].get('priority', 0)}: kubectl create priorityclass {name} --value=1000 makes one for later pods",
    )


def keep_priority(current: Manifest, updated: Manifest) -> None:
    """An update that says nothing of what was written at the creation leaves it."""
    before, spec = current.get("spec") or {}, updated.get("spec")
    for field in ("priority", "preemptionPolicy"):
        if isinstance(spec, dict) and before.get(field) is not None and spec.get(field) is None:
            spec[field] = before[field]


def check_default(priority: Manifest, classes: Mapping[str, PriorityClass]) -> None:
    """Raises `Forbidden` of a second class that is the default."""
    name, default = name_of(priority), find_default(classes.values())
    if priority.get("globalDefault") and default.name not in ("", name):
        raise Forbidden(
            f'{PRIORITY_CLASSES.qualified} "{name}" is forbidden: PriorityClass {default.name} is already marked as'
            " default. Only one default can exist",
            kind=PRIORITY_CLASSES.plural, name=name,
        )  # fmt: skip


def check_deletable(name: str) -> None:
    """Raises `Forbidden` of a class that every cluster has."""
    if any(each.name == name for each in SYSTEM_CLASSES):
        raise Forbidden(
            f'{PRIORITY_CLASSES.qualified} "{name}" is forbidden: this is a system priority class and cannot be'
            " deleted",
            kind=PRIORITY_CLASSES.plural, name=name,
        )  # fmt: skip


def build_system_classes() -> list[Manifest]:
    texts = {
        "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved to"
        " another node if necessary.",
        "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    }
    return [
        {
            "apiVersion": PRIORITY_CLASSES.api_version, "kind": PRIORITY_CLASSES.kind,
            "metadata": {"name": each.name}, "value": each.value, "description": texts[each.name],
            "preemptionPolicy": each.policy,
        }
        for each in SYSTEM_CLASSES
    ]  # fmt: skip


def _refuse(pod: Manifest, why: str) -> Forbidden:
    name = name_of(pod)
    return Forbidden(f'pods "{name}" is forbidden: {why}', kind="pods", name=name)
