"""Pods that should have been gone: on a node that is lost nobody ends them, and their names stay taken for ever.

A pod that is being deleted is gone when its kubelet says so. A kubelet that is out of reach says nothing, and the
rank's next pod, which has the same name, cannot be made. So a pod that is still there `PATIENCE` seconds after its
grace, on a node that was lost for as long (nothing is heard of it) or does not exist any more, is deleted by force: by
UID, with no grace, once. A node that says itself that it is not ready has a kubelet, which ends the pod when it can: a
second pod of the rank beside it would be worse than to wait.

Kubernetes' deletionTimestamp is the moment by which a pod should be gone, its grace included. Nodes are not watched:
the operator asks after the nodes of the pods that `overdue` names, and of no other. Where it may not ask, nothing is
forced and the cause says what to type. A pod that only a finalizer holds is not forced twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.model import Delete, EventNote, Job, NodeState, Observed, Pod
from paddock.kube.meta import PODS, Key
from paddock.kube.times import Moment

PATIENCE = 30.0
"""Seconds for which a pod on a lost node is waited for, after its grace and after the node was lost, whatever is later:
clocks differ, and nodes come back."""

ASK_AGAIN = 30.0
"""Seconds until a node that was not lost, or could not be asked, is asked after again."""

_LOST = (NodeState.SILENT, NodeState.GONE)


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
    lost = {pod: _forced_at(pod, observed) for pod in _on(late, observed, *_LOST)}
    stuck = [pod for pod, moment in lost.items() if moment <= now]
    return Overdue(
        actions=tuple(Delete(PODS, Key(job.key.namespace, pod.name), pod.uid, grace=0) for pod in stuck),
        events=tuple(_note(pod, observed.nodes[pod.node].state) for pod in stuck),
        cause=_cause(
            job, tuple(lost), _on(late, observed, NodeState.NOT_READY), _on(late, observed, NodeState.UNKNOWN)
        ),
        left=_left(observed.pods, lost, now),
    )


def _is_awaited(pod: Pod) -> bool:
    return pod.deleting and bool(pod.node) and not pod.forced


def _on(pods: Iterable[Pod], observed: Observed, *states: NodeState) -> tuple[Pod, ...]:
    """Those whose node is in one of these states."""
    return tuple(pod for pod in pods if (node := observed.nodes.get(pod.node)) is not None and node.state in states)


def _forced_at(pod: Pod, observed: Observed) -> Moment:
    """When the patience with a pod on a lost node is over."""
    return max(pod.gone_by or 0.0, observed.nodes[pod.node].since or 0.0) + PATIENCE


def _cause(job: Job, lost: Sequence[Pod], not_ready: Sequence[Pod], unknown: Sequence[Pod]) -> causes.Cause | None:
    if lost:
        return causes.WaitingForNode(_ranks(lost), _nodes(lost), int(PATIENCE))
    for kind, late in ((causes.NodeNotReady, not_ready), (causes.NodeUnknown, unknown)):
        if late:
            names = tuple(sorted(pod.name for pod in late))
            return kind(_ranks(late), _nodes(late), job.key.namespace, names)
    return None


def _left(pods: Iterable[Pod], lost: Mapping[Pod, Moment], now: Moment) -> float | None:
    """Until the next pod is overdue, or its patience is over, or its node may have changed."""
    moments = [
        lost.get(pod, now + ASK_AGAIN if pod.gone_by <= now else pod.gone_by)
        for pod in pods
        if _is_awaited(pod) and pod.gone_by is not None
    ]
    ahead = [moment for moment in moments if now < moment]
    return min(ahead) - now if ahead else None


def _note(pod: Pod, state: NodeState) -> EventNote:
    how = "is gone" if state is NodeState.GONE else "is lost: nothing is heard of it"
    message = f"deleting pod {pod.name} by force: its grace is over, and its node {pod.node} {how}"
    return EventNote("PodForced", message, "Warning")


def _ranks(pods: Sequence[Pod]) -> tuple[str, ...]:
    return tuple(str(pod.rank) for pod in sorted(pods, key=lambda pod: pod.rank))


def _nodes(pods: Sequence[Pod]) -> tuple[str, ...]:
    return tuple(sorted({pod.node for pod in pods}))
