"""What is told of a gang that trains with fewer ranks, and what it lacks for one more, by what the scheduler and the
kubelets say of its pods (`jobs.rejoining`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paddock.jobs import causes
from paddock.jobs.actions import EventNote
from paddock.jobs.launch import Elastic
from paddock.jobs.model import Elasticity, Job, Pod, PodPhase, Role, Status
from paddock.jobs.policies.wake import NO_CONFIG_MAP
from paddock.jobs.rejoining import all_rejoin, find_changed
from paddock.jobs.waiting import ORDINARY, PROGRESS, SCHEDULER
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.quantities import format_quantity
from paddock.words.phrases import counted

_UNSCHEDULABLE = "Unschedulable"
_INSUFFICIENT = re.compile(r"Insufficient (\w[\w./-]*\w)")


def find_message(pods: Iterable[Pod]) -> str:
    """The message of the first pod that has a node and cannot start (`worker-2: ErrImagePull: …`), or else of the first
    that has no node; empty if nothing is said."""
    pods = tuple(pods)
    if held := next((said for pod in pods if (said := _explain_held(pod))), ""):
        return held
    return next((pod.waiting[1] for pod in pods if pod.waiting and pod.waiting[0] == _UNSCHEDULABLE), "")


def find_lacking(role: Role, message: str) -> tuple[str, ...]:
    """The resources that one rank asks for and that the scheduler names as insufficient: `cpu=500m`."""
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


def explain_smaller(job: Job, status: Status, gang: Sequence[Pod]) -> causes.RunsSmaller:
    """The cause while a group trains (`runs_on`) without ranks that have no room. Bounds are pods in all, as torchrun
    counts them."""
    elastic, said = job.launch.elastic, find_message(gang)
    assert elastic is not None, f"{job.key} is not elastic"
    running = sum(pod.phase is PodPhase.RUNNING and not pod.deleting for pod in gang)
    return build_smaller(job, "worker", running, elastic, status, said)


def build_smaller(
    job: Job, name: str, size: int, bounds: Elastic | Elasticity, status: Status, said: str
) -> causes.RunsSmaller:
    """The cause while `size` ranks of the role `name` train. `said`: the message about those that the gang lacks."""
    role, after = job.role(name), status.gang_loss or None
    lacks = find_lacking(role, said) if role is not None else ()
    return causes.RunsSmaller(name, size, bounds.least, bounds.most, after, lacks or None, said or None)


def build_notes(job: Job, status: Status, gang: Sequence[Pod]) -> tuple[EventNote, ...]:
    """The event of a new number of ranks within an attempt whose pods are there."""
    changed = find_changed(job, status.sizes, ())
    if not changed or not gang or not all_rejoin(job, changed):
        return ()
    said = counted(
        "the job was resized from {before} to {count} pod, and the ranks that run form their group anew",
        "the job was resized from {before} to {count} pods, and the ranks that run form their group anew",
        before=sum(status.sizes.values()),
        count=job.size,
    )
    return (EventNote("Resized", str(said)),)
