"""PodGroups: how many pods of a gang must be placed at once, and what the group's status says of them. Pure.

Two APIs have the kind: `scheduling.x-k8s.io` (coscheduling, of the scheduler plugins) and `scheduling.volcano.sh`.
Both are honoured in the same way; only their status differs. A pod may belong to one of each, where its operator has
made the one and a user the other: then the stricter holds, and both tell the same. Placing is `paddock.node.placement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.kube.meta import VOLCANO_POD_GROUPS, Manifest, key_of, metadata, uid_of
from paddock.kube.times import Moment, read_time
from paddock.node.requests import GroupKey, Request


@dataclass(frozen=True, slots=True)
class Group:
    """A PodGroup. Fewer than `minimum` of its pods are never bound.

    `status` is what was written of it: it decides nothing, and equality ignores it.
    """

    key: GroupKey
    uid: str = ""
    minimum: int = 1
    created: Moment | None = None
    priority_class: str = ""
    status: Mapping[str, Any] = field(default_factory=dict, compare=False)


def read_group(manifest: Manifest) -> Group:
    """A PodGroup of either API; one without minMember asks for one pod."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    minimum = spec.get("minMember")
    return Group(
        key=(str(manifest.get("apiVersion") or "").partition("/")[0], key_of(manifest)),
        uid=uid_of(manifest),
        minimum=max(1, minimum) if isinstance(minimum, int) else 1,
        created=read_time(metadata(manifest).get("creationTimestamp")),
        priority_class=str(spec.get("priorityClassName") or ""),
        status=manifest.get("status") or {},
    )


def find_group(request: Request, groups: Mapping[GroupKey, Group]) -> Group | None:
    """The PodGroup that a pod is placed with: of those that it names and that exist, the one that asks for most pods,
    and of equals the first named. None where there is none."""
    return max((groups[key] for key in request.groups if key in groups), key=lambda it: it.minimum, default=None)


def build_status(group: Group, members: Iterable[Request]) -> Manifest:
    """The status of a group, of which `members` are all pods; fields that are not ours stay as they were.

    A group whose pods have all been cleaned up keeps the end it had. `scheduled` counts pods that hold room on a node.
    """
    pods = [member for member in members if not member.deleting]
    if not pods and group.status.get("phase") in ("Finished", "Failed"):
        return dict(group.status)
    counts = {
        "running": sum(pod.phase == "Running" for pod in pods),
        "succeeded": sum(pod.phase == "Succeeded" for pod in pods),
        "failed": sum(pod.phase == "Failed" for pod in pods),
    }
    scheduled = sum(pod.holds for pod in pods)
    if group.key[0] == VOLCANO_POD_GROUPS.group:
        return {**group.status, "phase": _volcano_phase(group, scheduled, counts), **counts}
    return {**group.status, "phase": _phase(group, len(pods), counts), "scheduled": scheduled, **counts}


def _phase(group: Group, exist: int, counts: Mapping[str, int]) -> str:
    """Source: scheduler-plugins, pkg/controllers/podgroup_controller.go (the last that holds wins)."""
    up = counts["running"] + counts["succeeded"]
    if counts["succeeded"] >= group.minimum:
        return "Finished"
    if counts["failed"] and counts["failed"] + up >= group.minimum:
        return "Failed"
    if up >= group.minimum:
        return "Running"
    return "Scheduling" if exist >= group.minimum else "Pending"


def _volcano_phase(group: Group, scheduled: int, counts: Mapping[str, int]) -> str:
    """Inqueue from the first sight: operators make no pods before it, and pods say with numbers what they wait for.
    Volcano's other phases would make paddle-operator stop in the middle of a job."""
    return "Running" if scheduled + counts["succeeded"] >= group.minimum else "Inqueue"
