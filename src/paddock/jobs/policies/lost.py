"""Forced deletion of pods on lost nodes: without it their names stay taken, and the next gang waits for ever.

A pod that is being deleted is gone when its kubelet confirms it. A kubelet that is out of reach confirms nothing, and
the rank's next pod, which has the same name, cannot be created. So a pod is deleted by force (by UID, without grace,
once) when it is still there `FORCE_AFTER` seconds after its grace period, on a node that has not reported for as long
or no longer exists; on a node that reports itself not ready it is waited for.

Kubernetes' deletionTimestamp is the time by which a pod should be gone, with its grace period. Nodes are not watched:
the operator reads the nodes of the pods that `overdue` returns, and no other. Where it may not read nodes, nothing is
forced, and the cause says what to type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.actions import Delete, EventNote
from paddock.jobs.model import Job, NodeState, Observed, Pod
from paddock.kube.meta import PODS, Key
from paddock.kube.times import Moment

FORCE_AFTER = 30.0
"""Seconds from the end of the grace period, or from the loss of the node, whichever is later, to the forced delete:
clocks differ, and nodes come back."""

READ_NODE_AGAIN = 30.0
"""Seconds until a node that was not lost, or could not be read, is read again."""

# A node that reports itself not ready has a live kubelet, which ends the pod when it can: a second pod of the rank
# beside the first would be worse than waiting.
_LOST = (NodeState.SILENT, NodeState.GONE)


@dataclass(frozen=True, slots=True)
class Overdue:
    """What to do about pods that should be gone by now. `left`: seconds until that may change."""

    actions: tuple[Delete, ...] = ()
    events: tuple[EventNote, ...] = ()
    cause: causes.Cause | None = None
    left: float | None = None


def overdue(pods: Iterable[Pod], now: Moment) -> tuple[Pod, ...]:
    """Pods on a node that should be gone by now and were not deleted by force yet."""
    return tuple(pod for pod in pods if _is_awaited(pod) and pod.gone_by is not None and pod.gone_by <= now)


def plan_overdue(job: Job, observed: Observed, now: Moment) -> Overdue:
    """About the pods of the job, and of former jobs of its name."""
    everybody, former = (*observed.pods, *observed.former), {pod.uid for pod in observed.former}
    late = overdue(everybody, now)
    lost = {pod: _forced_at(pod, observed) for pod in _on(late, observed, *_LOST)}
    # While nobody knows what time it is, nobody knows that a pod is late.
    stuck = [] if observed.clock_off else [pod for pod, moment in lost.items() if moment <= now]
    return Overdue(
        actions=tuple(
            Delete(PODS, Key(job.key.namespace, pod.name), pod.uid, grace=0, former=pod.uid in former) for pod in stuck
        ),
        events=tuple(_note(pod, observed.nodes[pod.node].state) for pod in stuck),
        cause=_cause(
            job, tuple(lost), _on(late, observed, NodeState.NOT_READY), _on(late, observed, NodeState.UNKNOWN)
        ),
        left=READ_NODE_AGAIN if lost and observed.clock_off else _left(everybody, lost, now),
    )


def _is_awaited(pod: Pod) -> bool:
    # A pod that was deleted by force and is still there is held by a finalizer: a second force would not help.
    return pod.deleting and bool(pod.node) and not pod.forced


def _on(pods: Iterable[Pod], observed: Observed, *states: NodeState) -> tuple[Pod, ...]:
    """Pods whose node is in one of these states."""
    return tuple(pod for pod in pods if (node := observed.nodes.get(pod.node)) is not None and node.state in states)


def _forced_at(pod: Pod, observed: Observed) -> Moment:
    """When a pod on a lost node is deleted by force."""
    return max(pod.gone_by or 0.0, observed.nodes[pod.node].since or 0.0) + FORCE_AFTER


def _cause(job: Job, lost: Sequence[Pod], not_ready: Sequence[Pod], unknown: Sequence[Pod]) -> causes.Cause | None:
    if lost:
        return causes.WaitingForNode(_ranks(lost), _nodes(lost), int(FORCE_AFTER))
    for kind, late in ((causes.NodeNotReady, not_ready), (causes.NodeUnknown, unknown)):
        if late:
            names = tuple(sorted(pod.name for pod in late))
            return kind(_ranks(late), _nodes(late), job.key.namespace, names)
    return None


def _left(pods: Iterable[Pod], lost: Mapping[Pod, Moment], now: Moment) -> float | None:
    """Seconds until the next pod is overdue, or is forced, or its node is read again."""
    moments = [
        lost.get(pod, now + READ_NODE_AGAIN if pod.gone_by <= now else pod.gone_by)
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
