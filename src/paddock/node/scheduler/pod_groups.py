"""PodGroups: how many pods of a gang must be placed at the same time, and the status of the group. Pure.

Two API groups have the kind: `scheduling.x-k8s.io` (coscheduling, of scheduler-plugins) and `scheduling.volcano.sh`.
Both have the same effect; only their status differs. A pod may belong to one of each, if its operator created one and
the user the other: then the larger minMember counts. Pods are placed in `node.scheduler.placement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.kube.meta import VOLCANO_POD_GROUPS, Manifest, key_of, metadata, uid_of
from paddock.kube.times import Moment, read_time
from paddock.node.scheduler.pod_request import GroupKey, Request


@dataclass(frozen=True, slots=True)
class Group:
    """A PodGroup."""

    key: GroupKey
    uid: str = ""
    minimum: int = 1
    """Its minMember; fewer pods are never bound."""
    created: Moment | None = None
    priority_class: str = ""
    status: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The last one written. No decision depends on it, and equality ignores it."""


def read_group(manifest: Manifest) -> Group:
    """Reads a PodGroup of either API group; minMember defaults to 1."""
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
    """The PodGroup of a pod: of those that it names and that exist, the one with the largest minMember; among equals
    the first named."""
    return max((groups[key] for key in request.groups if key in groups), key=lambda it: it.minimum, default=None)


def build_status(group: Group, members: Iterable[Request]) -> Manifest:
    """The status of a group with all its pods, `members`; fields of other writers are kept.

    `scheduled` counts the pods that are bound and not finished.
    """
    pods = [member for member in members if not member.deleting]
    # The pods of a finished job are cleaned up; without them the phase would fall back to Pending.
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
    """Source: scheduler-plugins, pkg/controllers/podgroup_controller.go (the last condition that holds wins)."""
    up = counts["running"] + counts["succeeded"]
    if counts["succeeded"] >= group.minimum:
        return "Finished"
    if counts["failed"] and counts["failed"] + up >= group.minimum:
        return "Failed"
    if up >= group.minimum:
        return "Running"
    return "Scheduling" if exist >= group.minimum else "Pending"


def _volcano_phase(group: Group, scheduled: int, counts: Mapping[str, int]) -> str:
    """Inqueue from the start: operators create no pods before it, and each pod reports what it waits for. Volcano's
    other phases would make paddle-operator stop in the middle of a job."""
    return "Running" if scheduled + counts["succeeded"] >= group.minimum else "Inqueue"
