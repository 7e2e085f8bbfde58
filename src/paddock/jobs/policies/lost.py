"""Pods whose nodes do not answer: those that should be gone, and those that should have started.

A pod that is being deleted is gone when its kubelet confirms it. A kubelet that is out of reach confirms nothing, and
the rank's next pod, which has the same name, cannot be created. So a pod is deleted by force (by UID, without grace,
once) when it is still there `FORCE_AFTER` seconds after its grace period, on a node that has not reported for as long
or no longer exists; on a node that reports itself not ready it is waited for. Kubernetes' deletionTimestamp is the time
by which a pod should be gone, with its grace period.

A pod that ran tells itself that its node is lost: the node lifecycle controller sets its condition Ready to False
(`Pod.unheard`). A pod that has not started tells nothing: it stays Pending, as while its image is pulled. So the nodes
of such pods are read, once the job has waited for a minute without progress; the cause is chosen in `jobs.waiting`.

Nodes are not watched, as those of a fleet change all the time: the operator reads the nodes that `overdue` and
`doubtful_nodes` name, and no other. Where it may not read nodes, nothing is forced, and the cause says what to type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.actions import Delete, EventNote
from paddock.jobs.model import CauseRecord, Job, NodeState, Observed, Pod, PodPhase
from paddock.jobs.sentences.cause_args import items_of
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
    """What to do about pods that should be gone by now."""

    actions: tuple[Delete, ...] = ()
    events: tuple[EventNote, ...] = ()
    cause: causes.Cause | None = None
    left: float | None = None  # seconds until that may change


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


# Pods that have not started.


LOOK_AFTER = 60.0
"""Seconds of waiting until nodes are read, and until they are read again. Kubernetes marks a node that does not report
after 40 s."""

MOST_NODES = 20
"""Nodes that are read at one time."""

_STARTING = (causes.PodsStarting.__name__, causes.WaitingForAddresses.__name__)
_SILENT = causes.NodeSilent.__name__


def is_due(cause: CauseRecord | None, now: Moment) -> bool:
    """Whether nodes of pods that have not started are read now. `cause`: the recorded one, which stays, with its time,
    as long as there is no progress."""
    if cause is None or cause.reason == _SILENT:
        return cause is not None
    return cause.reason in _STARTING and _age(cause, now) >= LOOK_AFTER


def doubtful_nodes(pods: Iterable[Pod], cause: CauseRecord | None, now: Moment) -> tuple[str, ...]:
    """The names of the nodes to read. `pods`: the job's."""
    if cause is None or not is_due(cause, now):
        return ()
    nodes = {pod.node for pod in pods if _should_start(pod)}
    if cause.reason == _SILENT:
        nodes &= set(items_of(cause.args, "nodes"))
    return tuple(sorted(nodes)[:MOST_NODES])


def look_left(pods: Sequence[Pod], cause: CauseRecord | None, now: Moment) -> float | None:
    """Seconds until nodes are read, or read again; None if no pod waits on one. `cause`: the one to be recorded."""
    if cause is None or cause.reason not in (*_STARTING, _SILENT) or not any(map(_should_start, pods)):
        return None
    return LOOK_AFTER if is_due(cause, now) else LOOK_AFTER - _age(cause, now)


def _should_start(pod: Pod) -> bool:
    return bool(pod.node) and pod.phase in (PodPhase.PENDING, PodPhase.STARTING) and not pod.deleting


def _age(cause: CauseRecord, now: Moment) -> float:
    return 0.0 if cause.since is None else max(0.0, now - cause.since)
