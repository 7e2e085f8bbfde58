"""Pods that do not start because of their node: which nodes are read, and when.

A pod that ran tells itself that its node is lost: the node lifecycle controller sets its condition Ready to False
(`Pod.unheard`). A pod that has not started tells nothing: it stays Pending, as while its image is pulled. So the nodes
of such pods are read, once the job has waited for a minute without progress. Nodes are not watched: those of a fleet
change all the time. The cause is chosen in `jobs.waiting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paddock.jobs import causes
from paddock.jobs.model import CauseRecord, Pod, PodPhase
from paddock.jobs.sentences.cause_args import items_of
from paddock.kube.times import Moment

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
    nodes = {pod.node for pod in pods if _is_awaited(pod)}
    if cause.reason == _SILENT:
        nodes &= set(items_of(cause.args, "nodes"))
    return tuple(sorted(nodes)[:MOST_NODES])


def look_left(pods: Sequence[Pod], cause: CauseRecord | None, now: Moment) -> float | None:
    """Seconds until nodes are read, or read again; None if no pod waits on one. `cause`: the one to be recorded."""
    if cause is None or cause.reason not in (*_STARTING, _SILENT) or not any(map(_is_awaited, pods)):
        return None
    return LOOK_AFTER if is_due(cause, now) else LOOK_AFTER - _age(cause, now)


def _is_awaited(pod: Pod) -> bool:
    return bool(pod.node) and pod.phase in (PodPhase.PENDING, PodPhase.STARTING) and not pod.deleting


def _age(cause: CauseRecord, now: Moment) -> float:
    return 0.0 if cause.since is None else max(0.0, now - cause.since)
