"""`runPolicy` in Kubeflow's shape, for every API group.

An absent limit means no limit. Seconds are whole, as in Kubeflow. Each group has its own values of `cleanPodPolicy`.
`managedBy` has those of Kubeflow's webhook; what it means is decided in `jobs.policies.manager`.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs.model import CleanPods, Policies, Role, Scheduling
from paddock.jobs.policies.manager import Manager
from paddock.jobs.reading.fields import Fields
from paddock.jobs.text.phrases import phrase

_LARGEST = 2**31 - 1


def read_run_policy(policy: Fields, clean_pods: CleanPods) -> Policies:
    deadline = policy.whole("activeDeadlineSeconds", 1, _LARGEST)
    ttl = policy.whole("ttlSecondsAfterFinished", 0, _LARGEST)
    _check_manager(policy)
    return Policies(
        backoff_limit=policy.whole("backoffLimit", 0, _LARGEST),
        active_deadline=None if deadline is None else float(deadline),
        ttl=None if ttl is None else float(ttl),
        suspend=policy.flag("suspend"),
        clean_pods=clean_pods,
    )


def _check_manager(policy: Fields) -> None:
    """Refuses what Kubeflow's webhook refuses, and says so where somebody else will run the job."""
    manager = policy.choice("managedBy", Manager, Manager.TRAINING_OPERATOR)
    if manager is not Manager.TRAINING_OPERATOR:
        said = phrase(
            "{manager} runs this job: Paddock makes no pods for it and does not write its status", manager=str(manager)
        )
        policy.warn("managedBy", said)


def read_scheduling(policy: Fields, roles: Sequence[Role]) -> Scheduling:
    """`schedulingPolicy`: in `spec` with paddle-operator, in `spec.runPolicy` with Kubeflow."""
    size = sum(role.replicas for role in roles)
    return Scheduling(
        min_available=policy.whole("minAvailable", 1, max(size, 1)),
        queue=policy.text("queue"),
        priority_class=policy.text("priorityClass"),
        min_resources=policy.quantities("minResources"),
        schedule_timeout=policy.whole("scheduleTimeoutSeconds", 0, _LARGEST),
    )
