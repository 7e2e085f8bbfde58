"""Pods that should have been gone: on a node that is lost nobody ends them, and their names stay taken for ever.

A pod that is being deleted is gone when its kubelet says so. A kubelet that is out of reach says nothing, and the
rank's next pod, which has the same name, cannot be made. So a pod that is still there `PATIENCE` seconds after its
grace, on a node that is not ready or does not exist any more, is deleted by force: by UID, with no grace, once.

Kubernetes' deletionTimestamp is the moment by which a pod should be gone, its grace included. Nodes are not watched:
the operator asks after the nodes of the pods that `overdue` names, and of no other. Where it may not ask, nothing is
forced and the cause says what to type. A pod that only a finalizer holds is not forced twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.model import Delete, EventNote, Job, NodeState, Observed, Pod
from paddock.kube.meta import PODS, Key
from paddock.kube.times import Moment

PATIENCE = 30.0
"""Seconds after its grace for which a pod on a lost node is waited for: clocks differ, and nodes come back."""

ASK_AGAIN = 30.0
"""Seconds until a node that was ready, or could not be asked, is asked after again."""

_LOST = (NodeState.NOT_READY, NodeState.GONE)


@dataclass(frozen=True, slots=True)
class Overdue:
    """What there is to do about pods that should have been gone; `left`: seconds until there is something new."""

    actions: tuple[Delete, ...] = ()
    events: tuple[EventNote, ...] = ()
    cause: causes.Cause | None = None
    left: float | None = None


def overdue(pods: Iterable[Pod], now: Moment) -> tuple[Pod, ...]:
    """Pods on a node that should be gone by now, and that no force has been used on."""
    return tuple(pod for pod in pods if _is_awaited(pod) and pod.gone_by is not None and pod.gone_by <= now)


def plan_overdue(job: Job, observed: Observed, now: Moment) -> Overdue:
    late = overdue(observed.pods, now)
    lost = [pod for pod in late if observed.nodes.get(pod.node) in _LOST]
    stuck = [pod for pod in lost if pod.gone_by is not None and pod.gone_by + PATIENCE <= now]
    unknown = [pod for pod in late if observed.nodes.get(pod.node) is NodeState.UNKNOWN]
    return Overdue(
        actions=tuple(Delete(PODS, Key(job.key.namespace, pod.name), pod.uid, grace=0) for pod in stuck),
        events=tuple(_note(pod, observed.nodes[pod.node]) for pod in stuck),
        cause=_cause(job, lost, unknown),
        left=_left(observed.pods, stuck, lost, now),
    )


def _is_awaited(pod: Pod) -> bool:
    return pod.deleting and bool(pod.node) and not pod.forced


def _cause(job: Job, lost: Sequence[Pod], unknown: Sequence[Pod]) -> causes.Cause | None:
    if lost:
        return causes.WaitingForNode(_ranks(lost), _nodes(lost), int(PATIENCE))
    if unknown:
        names = tuple(sorted(pod.name for pod in unknown))
        return causes.NodeUnknown(_ranks(unknown), _nodes(unknown), job.key.namespace, names)
    return None


def _left(pods: Iterable[Pod], stuck: Sequence[Pod], lost: Sequence[Pod], now: Moment) -> float | None:
    """Until the next pod is overdue, or its patience is over, or its node may have changed."""
    moments = [
        now + ASK_AGAIN if pod.gone_by <= now and pod not in lost else pod.gone_by + PATIENCE * (pod.gone_by <= now)
        for pod in pods
        if _is_awaited(pod) and pod.gone_by is not None and pod not in stuck
    ]
    return max(0.0, min(moments) - now) if moments else None


def _note(pod: Pod, state: NodeState) -> EventNote:
    how = "is gone" if state is NodeState.GONE else "is not ready"
    message = f"deleting pod {pod.name} by force: its grace is over, and its node {pod.node} {how}"
    return EventNote("PodForced", message, "Warning")


def _ranks(pods: Sequence[Pod]) -> tuple[str, ...]:
    return tuple(str(pod.rank) for pod in sorted(pods, key=lambda pod: pod.rank))


def _nodes(pods: Sequence[Pod]) -> tuple[str, ...]:
    return tuple(sorted({pod.node for pod in pods}))
