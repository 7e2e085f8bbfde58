"""`runPolicy`, in the shape that Kubeflow gave it, as every API group reads it.

Absent means no limit. Seconds are whole, as in Kubeflow. Which words `cleanPodPolicy` takes is each group's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs.fields import Fields
from paddock.jobs.model import CleanPods, Policies, Role, Scheduling

_LARGEST = 2**31 - 1


def read_run_policy(policy: Fields, clean_pods: CleanPods) -> Policies:
    deadline = policy.whole("activeDeadlineSeconds", 1, _LARGEST)
    ttl = policy.whole("ttlSecondsAfterFinished", 0, _LARGEST)
    return Policies(
        backoff_limit=policy.whole("backoffLimit", 0, _LARGEST),
        active_deadline=None if deadline is None else float(deadline),
        ttl=None if ttl is None else float(ttl),
        suspend=policy.flag("suspend"),
        clean_pods=clean_pods,
    )


def read_scheduling(policy: Fields, roles: Sequence[Role]) -> Scheduling:
    """`schedulingPolicy`: in `spec` with paddle-operator, in `spec.runPolicy` with Kubeflow."""
    size = sum(role.replicas for role in roles)
    return Scheduling(
        min_available=policy.whole("minAvailable", 1, max(size, 1)),
        queue=policy.text("queue"),
        priority_class=policy.text("priorityClass"),
        min_resources=policy.quantities("minResources"),
    )
