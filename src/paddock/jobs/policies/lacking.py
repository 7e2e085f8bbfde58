"""What a gang lacks for one more rank, by what the scheduler and the kubelets say of its spare pods."""

from __future__ import annotations

import re
from collections.abc import Iterable

from paddock.jobs.model import Pod, Role
from paddock.jobs.policies.wake import NO_CONFIG_MAP
from paddock.jobs.waiting import ORDINARY, PROGRESS, SCHEDULER
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.quantities import format_quantity

_UNSCHEDULABLE = "Unschedulable"
_INSUFFICIENT = re.compile(r"Insufficient (\w[\w./-]*\w)")


def find_message(pods: Iterable[Pod]) -> str:
    """Of the first pod that has a node and cannot start (`worker-2: ErrImagePull: …`), or else of the first that has no
    node; empty if nothing is said."""
    pods = tuple(pods)
    if held := next((said for pod in pods if (said := _explain_held(pod))), ""):
        return held
    return next((pod.waiting[1] for pod in pods if pod.waiting and pod.waiting[0] == _UNSCHEDULABLE), "")


def find_lacking(role: Role, message: str) -> tuple[str, ...]:
    """Of what one rank asks for, the resources that the scheduler names as insufficient: `cpu=500m`."""
    lacking = set(_INSUFFICIENT.findall(message))
    if not lacking:
        return ()
    try:
        amounts = read_pod_amounts(role.template["spec"])
    except (ValueError, TypeError, AttributeError):  # a user's template has any shape
        return ()
    return tuple(f"{name}={format_quantity(amounts[name])}" for name in sorted(lacking & set(amounts)))


def _explain_held(pod: Pod) -> str:
    why, message = (pod.exit.reason, pod.exit.message) if pod.exit else pod.waiting or ("", "")
    if not pod.node or why in SCHEDULER | ORDINARY | {NO_CONFIG_MAP}:
        return ""
    # Without the percentage: each step would be a write of the job.
    return ": ".join(filter(None, (str(pod.rank), why, PROGRESS.sub("", message))))
