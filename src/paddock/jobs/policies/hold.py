"""The annotation `paddock.dev/hold`: a failed rank's pod outlives clean-up for so long, that somebody may look into it.

Only the last attempt is held: a new one needs the names of its pods, and no restart waits for a look. Of a job that has
succeeded nothing is held, and a pod that the operator ended has not failed. The time counts from the pod's own end. A
held pod asks for nothing in the scheduler, as it has ended. Where nobody keeps anything (a cluster), pods have no such
annotation, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterable

from paddock.jobs.model import Phase, Pod, Status
from paddock.kube.times import Moment


def is_held(pod: Pod, now: Moment) -> bool:
    return pod.held is not None and now < pod.held and not pod.deleting


def list_held(status: Status, pods: Iterable[Pod], now: Moment) -> list[Moment]:
    """Until when each pod is held of a job that has failed."""
    if status.phase is not Phase.FAILED:
        return []
    return [pod.held for pod in pods if pod.held is not None and is_held(pod, now) and status.holds(pod)]
